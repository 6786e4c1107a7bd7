"""Blobs: stored once, read in pieces, forgotten when nobody names them, and only then."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from roost.core.errors import (
    BytesMissing,
    FilesFull,
    InvalidInput,
    NotFound,
    StoreUnavailable,
)
from roost.core.ids import BlobId, SessionId
from roost.core.messages import FilePart
from roost.store.blobs import Blob
from roost.store.folder import BLOBS
from roost.store.sqlite.engine import SqliteEngine
from roost.store.upkeep import DAY
from roost.testing.clock import FakeClock
from roost.testing.faults import FaultError, failing
from tests.faults.engines import Gate
from tests.faults.recount import CHECKS
from tests.store_driver import Driver, databases, eventually, new_turn
from tests.unit.store.tables import run_sql

pytestmark = pytest.mark.both


@pytest.fixture(autouse=True)
async def totals_are_exact(ada: Driver, folder: Path) -> AsyncIterator[None]:
    """Whatever became of the blobs."""
    yield
    assert await run_sql(folder, CHECKS["what a user's blobs take"]) == []


def files(folder: Path) -> list[Path]:
    return [path for path in (folder / BLOBS).rglob("*") if path.is_file()]


async def stored(folder: Path) -> list[str]:
    """The names of all bytes that are kept, drafts among them."""
    names = [path.name for path in files(folder)]
    if folder in databases:
        rows = await run_sql(folder, "SELECT DISTINCT blob_id FROM blob_pieces")
        names += [str(name) for (name,) in rows]
    return names


def name_of(data: bytes) -> BlobId:
    return BlobId(hashlib.sha256(data).hexdigest())


async def test_bytes_come_back_under_the_name_of_their_content(ada: Driver) -> None:
    for data in (b"", b"owl", bytes(range(256)) * 4096):
        blob = await ada.blobs.put_bytes(data, "text/plain")
        assert blob == Blob(name_of(data), "text/plain", len(data))
        assert await ada.blobs.get(blob.id) == blob
        assert await ada.blobs.read_bytes(blob.id) == data


async def test_large_blob_is_read_and_written_in_pieces(ada: Driver) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for number in range(64):
            yield bytes([number]) * 16_384

    blob = await ada.blobs.put(pieces(), "application/x")
    assert blob.size == 1 << 20
    chunks = [chunk async for chunk in ada.blobs.read(blob.id)]
    assert len(chunks) > 1
    assert b"".join(chunks) == b"".join([bytes([number]) * 16_384 for number in range(64)])


async def test_same_bytes_are_stored_once_for_all_users(
    ada: Driver, bob: Driver, folder: Path
) -> None:
    puts = [who.blobs.put_bytes(b"owl", "text/plain") for who in (ada, bob) for _ in range(5)]
    assert len({blob.id for blob in await asyncio.gather(*puts)}) == 1
    assert await stored(folder) == [name_of(b"owl")]


async def test_upload_that_breaks_off_leaves_nothing(ada: Driver, folder: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"owl"
        raise ConnectionResetError

    with pytest.raises(StoreUnavailable):
        await ada.blobs.put(broken(), "text/plain")
    assert await stored(folder) == []


async def is_whole(who: Driver, data: bytes) -> bool:
    """Whether it is there, with its bytes if it is."""
    try:
        await who.blobs.get(name_of(data))
    except NotFound:
        return False
    assert await who.blobs.read_bytes(name_of(data)) == data
    return True


async def test_upload_that_is_cancelled_is_there_with_its_bytes_or_not_at_all(
    ada: Driver, folder: Path
) -> None:
    whole: list[str] = []
    for number in range(60):
        data = f"owl {number}".encode()
        putting = asyncio.create_task(ada.blobs.put_bytes(data, "text/plain"))
        for _ in range(number):
            await asyncio.sleep(0)
        putting.cancel()
        await asyncio.wait([putting])
        whole += [name_of(data)] if await is_whole(ada, data) else []
    assert sorted(await stored(folder)) == sorted(whole)


@pytest.mark.sqlite("there one thread writes, which can be held")
async def test_upload_that_is_cancelled_while_its_row_is_written_has_its_bytes(
    ada: Driver,
) -> None:
    engine, gate = ada.store.work.engine, Gate()
    assert isinstance(engine, SqliteEngine)
    holding = await gate.close(engine)
    putting = asyncio.create_task(ada.blobs.put_bytes(b"owl", "text/plain"))

    async def is_waiting() -> bool:
        return engine.figures.waiting > 0

    await eventually(is_waiting)
    putting.cancel()
    gate.open()
    with pytest.raises(asyncio.CancelledError):
        await putting
    await holding
    assert await is_whole(ada, b"owl")


async def test_write_that_fails_leaves_nothing(ada: Driver, folder: Path) -> None:
    with failing("blob.write.before"), pytest.raises(FaultError):
        await ada.blobs.put_bytes(b"owl", "text/plain")
    with failing("store.commit.before"), pytest.raises(StoreUnavailable):
        await ada.blobs.put_bytes(b"owl", "text/plain")
    assert await stored(folder) == []
    with pytest.raises(NotFound):
        await ada.blobs.get(name_of(b"owl"))


@pytest.mark.sqlite("bytes are rows there")
async def test_file_that_gets_no_name_leaves_no_draft(ada: Driver, folder: Path) -> None:
    in_the_way = folder / BLOBS / name_of(b"owl")[:2]
    in_the_way.touch()
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await ada.blobs.put_bytes(b"owl", "text/plain")
    await ada.store.upkeep.run()
    assert files(folder) == [in_the_way]
    in_the_way.unlink()
    await ada.blobs.put_bytes(b"owl", "text/plain")
    assert await ada.blobs.read_bytes(name_of(b"owl")) == b"owl"


@pytest.mark.sqlite("rows are not removed by hand as files are")
async def test_missing_file_is_a_clear_error(ada: Driver, folder: Path) -> None:
    blob = await ada.blobs.put_bytes(b"owl", "text/plain")
    files(folder)[0].unlink()
    with pytest.raises(BytesMissing, match=f"bytes of the attachment {blob.id} are missing"):
        await ada.blobs.read_bytes(blob.id)
    await ada.blobs.put_bytes(b"owl", "text/plain")
    assert await ada.blobs.read_bytes(blob.id) == b"owl"


async def attach(ada: Driver, session: SessionId, blob: Blob) -> None:
    part = FilePart(blob.id, blob.media_type, "x", blob.size)
    await ada.queue.submit(session, replace(new_turn(), parts=(part,)))


async def test_blob_that_no_session_names_is_forgotten_after_a_day(
    ada: Driver, bob: Driver, session: SessionId, folder: Path, clock: FakeClock
) -> None:
    named = await ada.blobs.put_bytes(b"named", "text/plain")
    await attach(ada, session, named)
    loose = await ada.blobs.put_bytes(b"loose", "text/plain")
    await bob.blobs.put_bytes(b"named", "text/plain")
    clock.advance(DAY - 1)
    fresh = await ada.blobs.put_bytes(b"fresh", "text/plain")
    assert (await ada.store.upkeep.run()).blobs == 0
    clock.advance(2)
    assert (await ada.store.upkeep.run()).blobs == 2, "the loose one, and Bob's right to the named"
    with pytest.raises(NotFound):
        await ada.blobs.get(loose.id)
    with pytest.raises(NotFound):
        await bob.blobs.get(named.id)
    assert await ada.blobs.read_bytes(named.id) == b"named"
    assert set(await stored(folder)) == {named.id, fresh.id}


async def test_blobs_to_forget_are_found_among_any_number_that_are_named(
    ada: Driver, bob: Driver, session: SessionId, folder: Path, clock: FakeClock
) -> None:
    rows = ", ".join(
        [
            f"('{who.user.id}', '{number:064}', 'text/plain', 1, 1)"
            for who in (ada, bob)
            for number in range(1_300)
        ]
    )
    names = ", ".join([f"('{session}', '{number:064}')" for number in range(1_300) if number % 100])
    await run_sql(folder, f"INSERT INTO blobs VALUES {rows}")
    await run_sql(folder, f"INSERT INTO session_blobs VALUES {names}")
    clock.advance(2 * DAY)
    assert (await ada.store.upkeep.run()).blobs == 13 + 1_300
    assert len(await run_sql(folder, "SELECT id FROM blobs")) == 1_300 - 13


@pytest.mark.postgres
async def test_bytes_are_forgotten_with_the_row_that_names_them(
    ada: Driver, folder: Path, clock: FakeClock
) -> None:
    await ada.blobs.put_bytes(b"owl", "text/plain")
    clock.advance(2 * DAY)
    for nth in range(1, 20):
        with contextlib.suppress(StoreUnavailable), failing("store.commit.after", nth=nth):
            await ada.store.upkeep.run()
        rows = await run_sql(folder, "SELECT id FROM blobs")
        assert len(rows) == len(await stored(folder))
    assert await stored(folder) == []


async def test_bytes_are_forgotten_wherever_a_round_was_stopped(
    ada: Driver, folder: Path, clock: FakeClock
) -> None:
    """Files go after their rows: what was to remove them may be gone in between."""
    for nth in range(1, 20):
        for number in range(3):
            await ada.blobs.put_bytes(f"owl {number}".encode(), "text/plain")
        clock.advance(2 * DAY)
        with contextlib.suppress(StoreUnavailable), failing("store.commit.after", nth=nth):
            await ada.store.upkeep.run()
        await ada.store.upkeep.run()
        assert await stored(folder) == []


async def test_blob_is_there_with_its_bytes_or_not_wherever_a_round_was_stopped(
    ada: Driver, session: SessionId, clock: FakeClock
) -> None:
    gone = 0
    for nth in range(1, 20):
        blob = await ada.blobs.put_bytes(b"owl", "text/plain")
        clock.advance(2 * DAY)
        with contextlib.suppress(StoreUnavailable), failing("store.commit.before", nth=nth):
            await ada.store.upkeep.run()
        if not await is_whole(ada, b"owl"):
            gone += 1
            with pytest.raises(InvalidInput, match="Upload it first"):
                await attach(ada, session, blob)
        await ada.blobs.put_bytes(b"owl", "text/plain")
        assert await is_whole(ada, b"owl")
    assert gone > 0


async def test_putting_it_again_gives_it_another_day(ada: Driver, clock: FakeClock) -> None:
    blob = await ada.blobs.put_bytes(b"owl", "text/plain")
    clock.advance(DAY - 1)
    await ada.blobs.put_bytes(b"owl", "text/plain")
    clock.advance(2)
    await ada.store.upkeep.run()
    assert await ada.blobs.read_bytes(blob.id) == b"owl"


async def test_blob_of_a_deleted_session_is_forgotten_once_that_is_purged(
    ada: Driver, session: SessionId, folder: Path, clock: FakeClock
) -> None:
    await attach(ada, session, await ada.blobs.put_bytes(b"owl", "text/plain"))
    await ada.sessions.delete(session)
    clock.advance(2 * DAY)
    async with asyncio.timeout(60):
        while await stored(folder):
            await ada.store.upkeep.run()


async def test_blob_put_while_it_is_being_forgotten_is_there_afterwards(
    ada: Driver, clock: FakeClock
) -> None:
    contents = [f"owl {number}".encode() for number in range(150)]
    for _ in range(4):
        await asyncio.gather(*[ada.blobs.put_bytes(data, "text/plain") for data in contents])
        clock.advance(2 * DAY)
        puts = [ada.blobs.put_bytes(data, "text/plain") for data in reversed(contents)]
        await asyncio.gather(ada.store.upkeep.run(), *puts)
        for data in contents:
            assert await ada.blobs.read_bytes(name_of(data)) == data


async def test_blobs_that_come_at_once_take_no_more_than_they_may(
    ada: Driver, bob: Driver, folder: Path
) -> None:
    puts = [ada.blobs.put_bytes(bytes([n]) * 40, "text/plain", most=100) for n in range(5)]
    outcomes = await asyncio.gather(*puts, return_exceptions=True)
    kept = [each for each in outcomes if isinstance(each, Blob)]
    assert len(kept) == 2
    assert sum(isinstance(each, FilesFull) for each in outcomes) == 3
    assert len(await stored(folder)) == 2, "what was refused is gone"
    await ada.blobs.put_bytes(b"x" * 20, "text/plain", most=100)
    with pytest.raises(FilesFull, match=r"limits\.files_mb"):
        await ada.blobs.put_bytes(b"y", "text/plain", most=100)
    await ada.blobs.put_bytes(b"y", "text/plain")  # an agent's
    await bob.blobs.put_bytes(b"z" * 100, "text/plain", most=100)
