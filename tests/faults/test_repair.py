"""Damaged stores: found at the start, copied before anything else, rescued as far as they go."""

import asyncio
import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.config import Config
from roost.core.errors import DataFolderError, StoreDamaged, StoreLost, StoreOwned, StoreTooNew
from roost.core.facts import Learned, NewFact
from roost.core.ids import BlobId, FactId, MessageId, SessionId, TurnId
from roost.core.messages import Draft, FilePart, TextPart
from roost.core.sessions import NewSession
from roost.core.turns import NewTurn, TurnEnd
from roost.core.usage import Usage
from roost.runtime import checks
from roost.store.folder import DATABASE
from roost.store.migrations import SCHEMA_VERSION
from roost.store.operations import Row
from roost.store.sqlite.backup import backup
from roost.store.sqlite.connect import Connection, connect_writer
from roost.store.sqlite.repair import Repair, check, repair
from roost.store.sqlite.store import SqliteStore
from tests.faults.migrator import NEXT, apply, made_up
from tests.faults.recount import recount
from tests.faults.scene import ATTACHMENT, SCOPE, TALK, USER, lease_of, opened, populate, rows_of
from tests.faults.victim import REPOSITORY

DEADLINE = 60.0
BIG = SessionId("ses_big")
TURNS = 150


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    asyncio.run(fill(folder))
    return folder


@pytest.fixture
def data(filled: Path, tmp_path: Path) -> Path:
    """A store of its own for each test, to damage."""
    return shutil.copytree(filled, tmp_path / "data")


async def fill(folder: Path) -> None:
    """Enough that every table of weight has many pages."""
    async with opened(folder, SystemClock()) as store:
        await populate(store)
        me = store.of(USER)
        for session in (BIG, *(SessionId(f"ses_{number:03}") for number in range(40))):
            await me.sessions.create(NewSession(id=session, origin="web", title="t" * 200))
        for number in range(TURNS):
            await talk(store, number)


async def talk(store: SqliteStore, number: int) -> None:
    me = store.of(USER)
    turn = TurnId(f"trn_big_{number:04}")
    asked = Draft(MessageId(f"msg_asked_{number:04}"), "user", (TextPart(f"question {number}"),))
    answer = Draft(
        MessageId(f"msg_answer_{number:04}"),
        "assistant",
        (TextPart(f"answer {number} " + "word " * 300),),
    )
    await me.queue.submit(BIG, NewTurn(id=turn, parts=asked.parts))
    lease = await lease_of(store, BIG)
    await me.turns.start(BIG, lease.token, turn, asked)
    usage = (Usage("p", "m", output_tokens=1, cost=1),)
    end = TurnEnd(state="completed", messages=(answer,), usage=usage)
    await me.turns.end(BIG, lease.token, turn, end)


def pages(folder: Path, name: str) -> list[int]:
    """The pages of a table or an index, its root first."""
    connection = Connection(str(folder / DATABASE))
    found = connection.rows(
        "SELECT pageno FROM dbstat WHERE name = ? AND pagetype <> 'overflow' ORDER BY path", (name,)
    )
    connection.close()
    return [int(str(page)) for (page,) in found]


def scribble(folder: Path, *numbers: int) -> None:
    """Overwrite whole pages with garbage."""
    path = folder / DATABASE
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[16:18])
    for number in numbers:
        content[(number - 1) * size : number * size] = bytes(
            itertools.islice(itertools.cycle(b"\xde\xad\xbe\xef"), size)
        )
    path.write_bytes(content)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.name: data
        for path in folder.glob(f"{DATABASE}*")
        if not path.name.endswith("-shm") and (data := path.read_bytes())
    }


async def assert_refused(folder: Path) -> None:
    with pytest.raises(StoreDamaged, match="Run `roost doctor --repair`; it makes a copy first"):
        async with opened(folder):
            pass


async def repaired(folder: Path) -> Repair:
    """Repair it, and see that the result is a whole store and the copy is what was there."""
    await assert_refused(folder)
    damaged = contents(folder)
    result = repair(folder, "0")
    assert contents(result.copy) == damaged
    assert sorted(path.name for path in folder.glob("rescued*")) == []
    assert check(folder) == []
    assert recount(folder, logs=False) == []
    return result


async def found_by_search(folder: Path, words: str) -> list[str]:
    async with opened(folder, SystemClock()) as store:
        me = store.of(USER)
        async with asyncio.timeout(DEADLINE):
            while not (hits := await me.search(words, limit=100)):
                await store.settings.put("poll", "1")
        return [hit.message for hit in hits]


Damage = Callable[[Path], None]


def middle_of(name: str) -> Damage:
    def damage(folder: Path) -> None:
        found = pages(folder, name)
        assert len(found) > 2, f"{name} is too small for this test"
        scribble(folder, found[len(found) // 2])

    return damage


async def test_page_in_the_middle_of_the_messages(data: Path) -> None:
    before = rows_of(data)
    middle_of("messages")(data)
    result = await repaired(data)
    assert "some rows of messages could not be read" in result.lost
    after = rows_of(data)
    lost = len(before["messages"]) - len(after["messages"])
    assert 0 < lost < 20
    assert result.kept["messages"] == len(after["messages"])
    for table in ("users", "epochs", "events", "tool_calls", "usage", "outbox", "secrets"):
        assert after[table] == before[table], table
    assert await found_by_search(data, f"answer {TURNS - 1}") == [f"msg_answer_{TURNS - 1:04}"]


def rows_without_users(folder: Path) -> None:
    connection = Connection(str(folder / DATABASE))
    connection.rows("pragma foreign_keys = off")
    connection.rows("DELETE FROM users")
    connection.close()


def index_of_a_row_that_is_gone(folder: Path) -> None:
    """A row goes while SQLite does not know of the index."""
    index = "type = 'index' AND tbl_name = 'messages' AND sql IS NOT NULL"
    with_schema(folder, f"CREATE TABLE aside AS SELECT * FROM sqlite_schema WHERE {index}")
    with_schema(folder, f"DELETE FROM sqlite_schema WHERE {index}")
    with_schema(folder, "DELETE FROM messages WHERE id = 'msg_asked_0003'")
    with_schema(folder, "INSERT INTO sqlite_schema SELECT * FROM aside")


def with_schema(folder: Path, statement: str) -> None:
    connection = Connection(str(folder / DATABASE))
    connection.rows("pragma writable_schema = on")
    connection.rows(statement)
    connection.close()


def three_pages_of_turns(folder: Path) -> None:
    scribble(folder, *pages(folder, "turns")[1:4])


def two_thirds(folder: Path) -> None:
    path = folder / DATABASE
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (three_pages_of_turns, "3 pages can't be read"),
        (rows_without_users, r"\d+ rows cut off from the rest"),
        (index_of_a_row_that_is_gone, "an index does not fit its table"),
        (two_thirds, "a part of it can't be read"),
    ],
)
async def test_damage_is_told_in_a_sentence(data: Path, damage: Damage, words: str) -> None:
    damage(data)
    (problem,) = check(data)
    assert re.fullmatch(words, problem)
    (found,) = checks.store(Config(data=data))
    assert found.found == f"damaged: {problem}"


async def test_two_pages_far_apart_cost_only_their_own_rows(data: Path) -> None:
    before = rows_of(data)["messages"]
    leaves = pages(data, "messages")[1:]
    scribble(data, leaves[len(leaves) // 10], leaves[-len(leaves) // 10])
    await repaired(data)
    assert 0 < len(before) - len(rows_of(data)["messages"]) < 20


@pytest.mark.parametrize("table", ["events", "settings"])
async def test_damaged_page_costs_no_row_but_its_own(data: Path, table: str) -> None:
    """Rows before it and after it are read, with a number of their own and without."""
    connection = Connection(str(data / DATABASE))
    connection.rows(
        "INSERT INTO settings SELECT '', 'about ' || id, printf('%.*c', 200, '1'), 0 FROM messages"
    )
    connection.close()
    before = len(rows_of(data)[table])
    leaf = pages(data, table)[3]
    connection = Connection(str(data / DATABASE))
    ((cells,),) = connection.rows("SELECT ncell FROM dbstat WHERE pageno = ?", (leaf,))
    connection.close()
    scribble(data, leaf)
    result = await repaired(data)
    assert isinstance(cells, int)
    assert cells > 10
    assert result.kept[table] == before - cells


async def test_row_that_leads_back_before_a_page_that_is_gone(data: Path) -> None:
    """Whoever reads on from there comes by it again, without end."""
    before = len(rows_of(data)["events"])
    first, second = pages(data, "events")[1:3]
    path = data / DATABASE
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[16:18])
    page = memoryview(content)[(first - 1) * size : first * size]
    cells = int.from_bytes(page[3:5])
    last = int.from_bytes(page[8 + 2 * (cells - 1) :][:2])
    number = last + (1 if page[last] < 0x80 else 2)  # after the length, of two bytes from 128 on
    assert page[number] == cells
    page[number] = 1
    path.write_bytes(content)
    scribble(data, second)
    result = await repaired(data)
    assert "some rows of events could not be read" in result.lost
    assert before // 2 < result.kept["events"] < before


def in_an_index_of(folder: Path, table: str) -> int:
    """A page of the longest index of a table."""
    connection = Connection(str(folder / DATABASE))
    names = connection.rows("SELECT name FROM pragma_index_list(?)", (table,))
    connection.close()
    return max((pages(folder, str(name)) for (name,) in names), key=len)[-1]


@pytest.mark.parametrize("table", ["messages", "turns", "sessions", "users"])
async def test_damaged_index_loses_nothing(data: Path, table: str) -> None:
    before = rows_of(data)
    scribble(data, in_an_index_of(data, table))
    result = await repaired(data)
    assert result.lost == []
    after = rows_of(data)
    assert {table: rows for table, rows in after.items() if table != "schema"} == {
        table: rows for table, rows in before.items() if table != "schema"
    }


async def test_damaged_search_index_is_made_again(data: Path) -> None:
    await found_by_search(data, f"answer {TURNS - 1}")
    scribble(data, pages(data, "search_data")[-1])
    result = await repaired(data)
    assert result.lost == []
    assert await found_by_search(data, "answer 7") == ["msg_answer_0007"]


async def test_memories_are_found_again(data: Path) -> None:
    scribble(data, pages(data, "search_facts_data")[-1])
    result = await repaired(data)
    assert result.lost == []
    async with opened(data) as store:
        (found,) = await store.of(USER).facts.search(SCOPE, "fox", limit=5)
        assert found.fact.text == "Ann saw a fox"


async def test_memory_whose_successor_is_lost_holds_again(data: Path) -> None:
    later = NewFact(id=FactId("fct_owl"), text="An owl", supersedes=(FactId("fct_fox"),))
    async with opened(data) as store:
        await store.of(USER).facts.apply(SCOPE, "later", Learned(additions=(later,)))
    connection = Connection(str(data / DATABASE))
    connection.rows("DELETE FROM facts WHERE id = 'fct_owl'")
    connection.close()
    scribble(data, pages(data, "search_facts_data")[-1])
    result = await repaired(data)
    assert result.lost == ["1 memory; what was superseded holds again"]
    async with opened(data) as store:
        assert [fact.id for fact in await store.of(USER).facts.page(SCOPE)] == ["fct_fox"]


async def test_lost_sessions_get_stand_ins_for_the_same_user(data: Path) -> None:
    before = rows_of(data)
    scribble(data, pages(data, "sessions")[0])
    result = await repaired(data)
    assert "some rows of sessions could not be read" in result.lost
    assert any("all but the messages of" in lost for lost in result.lost)
    assert rows_of(data)["messages"] == before["messages"]
    async with opened(data) as store:
        me = store.of(USER)
        history = await me.history.load(BIG)
        assert history.session.title == "Recovered session"
        assert len(history.messages) == TURNS * 2
        await me.queue.submit(BIG, NewTurn(id=TurnId("trn_on"), parts=(TextPart("go on"),)))


async def test_lost_users_get_stand_ins_of_whom_one_is_administrator(data: Path) -> None:
    scribble(data, pages(data, "users")[0])
    result = await repaired(data)
    assert "1 user account; with a stand-in for each" in result.lost
    async with opened(data) as store:
        assert [(user.id, user.role) for user in await store.users.all()] == [(USER, "admin")]
        assert len((await store.of(USER).history.load(BIG)).messages) == TURNS * 2


@pytest.mark.parametrize("table", ["blobs", "session_blobs"])
async def test_attachments_are_found_again_by_their_bytes(data: Path, table: str) -> None:
    scribble(data, pages(data, table)[0])
    await repaired(data)
    async with opened(data) as store:
        me = store.of(USER)
        (first, *_) = (await me.history.load(TALK)).messages
        part = first.parts[1]
        assert isinstance(part, FilePart)
        assert await me.blobs.read_bytes(BlobId(part.blob)) == ATTACHMENT
        await store.upkeep.run()
        assert await me.blobs.read_bytes(BlobId(part.blob)) == ATTACHMENT


async def test_what_attachments_take_is_counted_as_they_are_rescued(data: Path) -> None:
    async with opened(data) as store:
        for number in range(3):
            await store.of(USER).blobs.put_bytes(b"owl" * number, "text/plain")
    before = rows_of(data)["blob_totals"]
    middle_of("messages")(data)
    result = await repaired(data)
    assert [each for each in result.lost if "blob" in each] == []
    assert rows_of(data)["blob_totals"] == before != []


async def test_every_single_damaged_page_is_found_and_survived(tmp_path: Path) -> None:
    """Whatever page is hit: never a raw error, and what is rescued is a whole store."""
    async with opened(tmp_path / "whole") as store:
        await populate(store)
    whole = (tmp_path / "whole" / DATABASE).read_bytes()
    size = int.from_bytes(whole[16:18])
    rescued = 0
    for number in range(1, len(whole) // size + 1):
        folder = tmp_path / f"page {number}"
        folder.mkdir()
        (folder / DATABASE).write_bytes(whole)
        scribble(folder, number)
        if not check(folder):
            continue  # a free page
        with contextlib.suppress(StoreDamaged):
            async with opened(folder):
                pass
        with contextlib.suppress(StoreLost):
            repair(folder, "0")
            rescued += 1
            assert check(folder) == [], number
            assert recount(folder, logs=False, blobs=False) == [], number
    assert rescued > 20


async def test_truncated_file(data: Path) -> None:
    before = len(rows_of(data)["messages"])
    two_thirds(data)
    result = await repaired(data)
    assert result.lost
    assert 0 < len(rows_of(data)["messages"]) < before


async def test_garbage_in_place_of_the_log_is_no_damage(data: Path) -> None:
    before = rows_of(data)
    (data / f"{DATABASE}-wal").write_bytes(b"garbage" * 10_000)
    async with opened(data) as store:
        await store.settings.put("theme", '"light"')
    assert rows_of(data)["messages"] == before["messages"]
    assert check(data) == []
    assert recount(data) == []


def page_one(folder: Path) -> None:
    scribble(folder, 1)


def schema_only(folder: Path) -> None:
    """The header stays, so that it still says whose file it is."""
    path = folder / DATABASE
    content = bytearray(path.read_bytes())
    content[100:1000] = b"\xff" * 900
    path.write_bytes(content)


def not_a_database(folder: Path) -> None:
    (folder / DATABASE).write_bytes(b"not a database at all" * 500)


@pytest.mark.parametrize("damage", [page_one, schema_only, not_a_database])
async def test_store_beyond_rescue_is_refused_and_left_as_it_was(
    data: Path, damage: Damage
) -> None:
    damage(data)
    await assert_refused(data)
    before = contents(data)
    names = {path.name for path in data.iterdir()}
    with pytest.raises(
        StoreLost, match=r"table of contents can't be read. It was left .* Restore a backup"
    ):
        repair(data, "0")
    assert contents(data) == before
    left = {path.name for path in data.iterdir()} - names
    assert left <= {f"{DATABASE}-wal", f"{DATABASE}-shm"}


@pytest.mark.contract("D17")
@pytest.mark.parametrize("minimum", [SCHEMA_VERSION, NEXT])
async def test_damaged_store_of_a_newer_roost_is_left_to_that_one(data: Path, minimum: int) -> None:
    apply(data / DATABASE, made_up(minimum=minimum))
    middle_of("messages")(data)
    before = contents(data)
    with pytest.raises(StoreTooNew, match=r"needs a newer Roost .* Nothing was changed"):
        repair(data, "0")
    assert contents(data) == before
    assert list(data.glob("damaged*")) == list(data.glob("rescued*")) == []


async def test_two_repairs_in_one_second_keep_two_copies(data: Path) -> None:
    copies: set[Path] = set()
    for _ in range(2):
        scribble(data, in_an_index_of(data, "messages"))
        copies.add((await repaired(data)).copy)
    assert len(copies) == 2


def rows_in_the_log(folder: Path, into: Path) -> None:
    """Copy a store as a killed Roost would leave it: its last row is in the log alone."""
    connection = connect_writer(folder / DATABASE)
    connection.rows("INSERT INTO settings VALUES ('', 'late', '1', 0)")
    shutil.copytree(folder, into)
    connection.close()


def killed_at(place: str, *command: str) -> None:
    # What is set for longer runs of the tests is no setting of Roost's.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ROOST_")}
    environ["ROOST_FAULTS"] = f"{place}=kill"
    result = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=REPOSITORY,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE,
        check=False,
    )
    assert result.returncode == -signal.SIGKILL, result.stderr


SWAPPING = ("repair.name.after", "repair.swap.before", "repair.swap.after")


async def assert_all_is_there(folder: Path, before: dict[str, list[Row]]) -> None:
    async with opened(folder, SystemClock()) as store:
        assert await store.settings.get("late") == "1"
    after = rows_of(folder)
    for table in ("messages", "turns", "users", "events", "usage", "secrets"):
        assert after[table] == before[table], table
    assert check(folder) == []
    assert [*folder.glob("rep*.db*"), *folder.glob("rescued*")] == []


@pytest.mark.parametrize("place", ["repair.name.before", *SWAPPING])
async def test_repair_that_is_killed_leaves_a_store_with_all_that_was_rescued(
    data: Path, tmp_path: Path, place: str
) -> None:
    before = rows_of(data)
    scribble(data, in_an_index_of(data, "turns"))
    damaged = tmp_path / "damaged"
    rows_in_the_log(data, damaged)
    killed_at(place, "roost", "doctor", "--repair", "--data", str(damaged))
    if place == "repair.name.before":
        assert check(damaged)  # as it was
        repair(damaged, "0")
    assert check(damaged) == []
    backup(damaged, tmp_path / "backup")
    await assert_all_is_there(tmp_path / "backup", before)
    await assert_all_is_there(damaged, before)


@pytest.mark.parametrize("place", SWAPPING)
async def test_start_that_finishes_a_repair_may_be_killed_too(
    data: Path, tmp_path: Path, place: str
) -> None:
    before = rows_of(data)
    scribble(data, in_an_index_of(data, "turns"))
    damaged = tmp_path / "damaged"
    rows_in_the_log(data, damaged)
    killed_at("repair.name.after", "roost", "doctor", "--repair", "--data", str(damaged))
    if place != "repair.name.after":
        killed_at(place, "tests.faults.opener", str(damaged))
    repair(damaged, "0")  # of what was rescued, not of what was damaged
    await assert_all_is_there(damaged, before)


async def test_store_in_use_is_not_repaired(tmp_path: Path) -> None:
    async with opened(tmp_path):
        with pytest.raises(StoreOwned):
            repair(tmp_path, "0")
    with pytest.raises(DataFolderError, match="Nothing to repair"):
        repair(tmp_path / "elsewhere", "0")
