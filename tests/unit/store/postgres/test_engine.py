"""The engine on PostgreSQL: writes that are done once whatever happens to their connection."""

import asyncio
import gc
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from roost.core.errors import Conflict, StoreClosed, StoreContradicted, StoreError, StoreUnavailable
from roost.core.keys import StoreAddress
from roost.store.operations import Operation, query
from roost.store.postgres import engine as engines
from roost.store.postgres import transaction
from roost.store.postgres.connect import connect, is_pooled
from roost.store.postgres.engine import PostgresEngine
from roost.store.postgres.transaction import BEGIN_WRITE, Transaction
from tests.cutting import Moment, cutting
from tests.engine import SECONDS


@asynccontextmanager
async def opened(url: str, *, pooled: bool = False) -> AsyncGenerator[PostgresEngine]:
    engine = PostgresEngine(StoreAddress(url), pooled=pooled)
    try:
        yield engine
    finally:
        await engine.close()


def count_up(key: str) -> Operation[int]:
    """Not to be done twice: each time counts."""
    rows = yield query("get_setting", user="", key=key)
    number = int(str(rows[0][0])) + 1 if rows else 1
    yield query("put_setting", user="", key=key, value=str(number))
    return number


def value_of(key: str) -> Operation[str | None]:
    rows = yield query("get_setting", user="", key=key)
    return str(rows[0][0]) if rows else None


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_write_whose_commit_is_cut_off_is_done_once(
    url: str, tmp_path: Path, moment: Moment
) -> None:
    async with cutting(url, tmp_path) as cutter, opened(cutter.address(url)) as engine:
        for number in range(1, 6):
            cutter.cut = moment
            assert await engine.write(lambda: count_up("n")) == number
        assert cutter.cuts == 5
        assert await engine.read(lambda: value_of("n")) == "5"


async def test_connections_that_are_cut_while_nobody_uses_them_are_made_anew(
    url: str, tmp_path: Path
) -> None:
    async with cutting(url, tmp_path) as cutter, opened(cutter.address(url)) as engine:
        await asyncio.gather(*[engine.write(lambda n=n: count_up(f"{n}")) for n in range(8)])
        cutter.cut_all()
        assert await engine.write(lambda: count_up("0")) == 2
        cutter.cut_all()
        assert await engine.read(lambda: value_of("0")) == "2"


async def test_broken_constraint_is_told_in_words_and_logged_as_it_is(url: str) -> None:
    def orphaned() -> Operation[None]:
        yield query("open_epoch", session="ses_none", epoch=1, kind="undo", revision=1, detail="{}")

    async with opened(url) as engine:
        with (
            capture_logs() as logs,
            pytest.raises(StoreContradicted, match=r"^This does not go with what is stored"),
        ):
            await engine.write(orphaned)
    assert "foreign key" in str(logs[0]["exc_info"])


async def test_server_that_does_not_come_back_is_a_clear_error(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "PATIENCE", 0.2)
    async with opened(url.partition("?")[0] + f"?host={tmp_path}") as engine:
        with pytest.raises(StoreUnavailable, match="safe to try again"):
            await engine.write(lambda: count_up("n"))
        with pytest.raises(StoreUnavailable):
            await engine.read(lambda: value_of("n"))


async def test_nothing_between_is_no_pooler(url: str) -> None:
    assert not await is_pooled(StoreAddress(url))


async def test_without_prepared_statements_it_works_the_same(url: str) -> None:
    async with opened(url, pooled=True) as engine:
        assert [await engine.write(lambda: count_up("n")) for _ in range(3)] == [1, 2, 3]


async def test_operation_that_fails_leaves_nothing(url: str) -> None:
    def refused() -> Operation[None]:
        yield from count_up("n")
        raise Conflict("no")

    def broken() -> Operation[None]:
        yield from count_up("n")
        yield query("insert_piece", id="x", number=1, body=None)

    async with opened(url) as engine:
        with pytest.raises(Conflict):
            await engine.write(refused)
        with pytest.raises(StoreError):
            await engine.write(broken)
        assert await engine.read(lambda: value_of("n")) is None


async def test_read_can_not_write(url: str) -> None:
    async with opened(url) as engine:
        with pytest.raises(StoreError):
            await engine.read(lambda: count_up("n"))


async def test_not_even_a_single_statement_of_a_read_can_write(url: str) -> None:
    def put() -> Operation[None]:
        yield query("put_setting", user="", key="n", value="1")

    async with opened(url) as engine:
        with pytest.raises(StoreError):
            await engine.read(put)
        assert await engine.read(lambda: value_of("n")) is None


async def test_statements_of_a_read_are_of_one_moment(url: str) -> None:
    async def count() -> None:
        async with opened(url) as other:
            await other.write(lambda: count_up("n"))

    def twice() -> Operation[tuple[str | None, str | None]]:
        first = yield from value_of("n")
        with ThreadPoolExecutor(1) as beside:  # in between, as nobody here could
            beside.submit(lambda: asyncio.run(count())).result()
        return first, (yield from value_of("n"))

    async with opened(url) as engine:
        for _ in range(3):
            first, second = await engine.read(twice)
            assert first == second
        assert await engine.read(lambda: value_of("n")) == "4", "and the first try was no answer"


async def test_write_that_only_looked_is_done_again_if_its_commit_is_cut_off(
    url: str, tmp_path: Path
) -> None:
    async with cutting(url, tmp_path) as cutter, opened(cutter.address(url)) as engine:
        await engine.write(lambda: count_up("n"))
        cutter.cut = "after"
        assert await engine.write(lambda: value_of("n")) == "1"
        assert cutter.cuts == 1


async def test_deadlock_is_tried_again(url: str) -> None:
    def both(first: str, second: str) -> Operation[None]:
        yield from count_up(first)
        yield from count_up(second)

    async with opened(url) as engine:
        await engine.write(lambda: both("a", "b"))
        pairs = [("a", "b"), ("b", "a")]
        await asyncio.gather(*[engine.write(lambda pair=pair: both(*pair)) for pair in pairs])


async def test_write_whose_answer_never_comes_is_done_once(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "SILENCE", 1.0)
    async with cutting(url, tmp_path) as cutter, opened(cutter.address(url)) as engine:
        for number in range(1, 4):
            cutter.cut = "silent"
            assert await engine.write(lambda: count_up("n")) == number
        assert cutter.cuts == 3
        assert await engine.read(lambda: value_of("n")) == "3"


async def test_roost_that_stands_still_within_a_statement_keeps_nothing_locked(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "IN_ALL", "; SET LOCAL transaction_timeout = '2s'")
    still: Any = await connect(StoreAddress(url), cached=True)
    if still.get_server_version().major < 17:
        await still.close()
        pytest.skip("this PostgreSQL has no limit for a whole transaction (docs/scale.md)")
    await Transaction(still, {}, None).begin(BEGIN_WRITE)
    await still.execute("INSERT INTO settings VALUES ('', 'n', '1', 0)")
    await still.prepare("SELECT 1")  # of which the second half, to do it, does not come
    async with opened(url) as engine:
        assert await engine.write(lambda: count_up("n")) == 1
    still.terminate()


async def test_cancelled_callers_write_runs_to_its_end(url: str) -> None:
    async with opened(url) as engine:
        task = asyncio.create_task(engine.write(lambda: count_up("n")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with opened(url) as engine:
        assert await engine.read(lambda: value_of("n")) == "1"


async def test_read_that_is_given_up_disturbs_no_other(url: str) -> None:
    async with opened(url) as engine:
        await engine.write(lambda: count_up("n"))
        for steps in range(30):
            task = asyncio.create_task(engine.read(lambda: value_of("n")))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert await engine.read(lambda: value_of("n")) == "1"


async def test_vital_write_waits_behind_no_other(url: str) -> None:
    async with opened(url) as engine:
        await engine.write(lambda: count_up("n"))
        connection = await connect(StoreAddress(url), cached=False)
        await connection.execute("BEGIN; UPDATE settings SET value = value")
        many = [engine.write(lambda: count_up("n")) for _ in range(engines.CONNECTIONS + 10)]
        waiting = asyncio.gather(*many)
        async with asyncio.timeout(SECONDS):
            assert await engine.write(lambda: count_up("m"), vital=True) == 1
        assert not waiting.done()
        await connection.execute("COMMIT")
        await connection.close(timeout=60)
        await waiting


async def test_closed_engine_takes_nothing_more(url: str) -> None:
    async with opened(url) as engine:
        pass
    with pytest.raises(StoreClosed):
        await engine.write(lambda: count_up("n"))
    with pytest.raises(StoreClosed):
        await engine.read(lambda: value_of("n"))


async def test_read_that_is_given_up_at_any_moment_leaves_no_connection_behind(url: str) -> None:
    """Also while it is being made: of an engine that was just opened."""
    for moment in range(30):
        async with opened(url) as engine:
            reading = asyncio.create_task(engine.read(lambda: value_of("n")))
            for _ in range(moment):
                await asyncio.sleep(0.0005)  # from one step of it to the next
            reading.cancel()
            await asyncio.wait([reading])
    gc.collect()  # says of those that were only forgotten that they were not closed
