"""A store that moves to PostgreSQL: all of it, once, whatever happens on the way; or not at all."""

import asyncio
import contextlib
import hashlib
import os
import random
import signal
import sys
from asyncio.subprocess import Process
from pathlib import Path

import pytest

from roost.core.errors import ConfigError, Conflict
from roost.core.ids import BlobId, ScheduleId, SessionId, TurnId, UserId
from roost.core.keys import StoreAddress
from roost.core.sessions import NewSession
from roost.core.users import User
from roost.store.folder import BLOBS, DATABASE
from roost.store.moving import source, target
from roost.store.moving.book import read_book
from roost.store.moving.move import move
from roost.store.moving.tables import LEFT, TABLES
from roost.store.operations import Rows
from roost.store.postgres.connect import connect
from roost.store.search import SearchFilter
from roost.store.sqlite.connect import connect_reader
from roost.testing import faults
from tests.faults.moving import (
    LARGE,
    Unwatched,
    differing,
    leave_rows_without_files,
    moved,
    on_postgres,
    rows_in,
    run_sql,
    verified,
)
from tests.faults.scene import LIVE, SCOPE, TALK, USER, opened, rows_of
from tests.postgres import Server
from tests.store_driver import AnyStore, Driver, eventually

LIVE_TURN, DM = TurnId("trn_live"), "telegram:dm:1"
SEED = 20261116
DEADLINE = 240
"""Of those that start a dozen processes, one after the other."""


async def contents(store: AnyStore) -> dict[str, object]:
    """What can be read of everything, by those who may."""
    me = Driver(store, await store.users.get(USER))
    mine = store.of(USER)
    blobs = await mine.blobs.of_session(TALK)
    await eventually(lambda: me.search("quick"))
    return {
        "users": await store.users.all(),
        "sessions": await mine.sessions.page(),
        TALK: await me.everything(TALK),
        LIVE: await me.everything(LIVE),
        "turns": [await mine.turns.of(session) for session in (TALK, LIVE)],
        "history": [await mine.history.load(session) for session in (TALK, LIVE)],
        "orphans": await store.work.orphans(),
        "blobs": [await mine.blobs.read_bytes(blob.id) for blob in blobs],
        "found": await mine.search("quick brown", SearchFilter()),
        "facts": [each.fact for each in await mine.facts.search(SCOPE, "fox", limit=5)],
        "secrets": [await store.secrets.get("provider"), await mine.secrets.get("mine")],
        "settings": [await store.settings.get(key) for key in ("theme", "\U0001f600", "é")],
        "approvals": await mine.approvals.pending(),
        "rules": await mine.rules.all(),
        "schedules": await mine.schedules.all(),
        "pairings": await store.pairings.all(),
        "cursors": await store.inbox.cursors("telegram"),
        "outbox": [await store.outbox.get("out_1"), await store.outbox.shown(LIVE_TURN, DM)],
        "runs": await mine.schedules.runs(ScheduleId("sch_1"), limit=5),
        "usage": await mine.usage.of_session(TALK),
        "tokens": [await mine.tokens.all(), await mine.sign_ins.all()],
        "memory": await store.memory.pending(USER, TALK),
        "vectors": await mine.vectors.page(SCOPE, "small", limit=5),
    }


async def same_on_both(data: Path, url: str) -> None:
    async with opened(data) as store:
        before = await contents(store)
    async with on_postgres(data, url) as store:
        after = await contents(store)
        for what, expected in before.items():
            assert after[what] == expected, what


async def test_everything_is_read_from_postgres_as_it_was_from_sqlite(data: Path, url: str) -> None:
    rows = rows_of(data)
    compared = await moved(data, url)
    assert differing(compared) == []
    assert rows_of(data) == rows
    rows["events"] += events_with_messages(data)
    assert {each.name for each in compared} == {t.name for t in TABLES} | {"search", "search_facts"}
    for each in compared:
        assert each.rows[1] == len(rows.get(each.name, [0] * each.rows[0])) > 0, each.name
    totals = [(f"({user},{bytes})",) for user, bytes in rows["blob_totals"]]
    assert (await rows_in(url))["blob_totals"] == totals != []
    await same_on_both(data, url)
    async with on_postgres(data, url) as store:
        for content in (LARGE, b""):
            blob = BlobId(hashlib.sha256(content).hexdigest())
            assert await store.of(USER).blobs.read_bytes(blob) == content


def events_with_messages(data: Path) -> Rows:
    """Those that PostgreSQL has in rows of their own."""
    connection = connect_reader(data / DATABASE)
    try:
        return connection.rows("SELECT events FROM messages WHERE events IS NOT NULL")
    finally:
        connection.close()


async def test_stream_that_has_moved_on_takes_nothing_of_the_attempt_before_along(
    data: Path, url: str
) -> None:
    async with opened(data) as store:
        me = Driver(store, await store.users.get(USER))
        run = await me.run()
        await me.stream(run, "First ")
        await me.say(run, "First try")
    await moved(data, url)
    async with on_postgres(data, url) as store:
        me = Driver(store, await store.users.get(USER))
        turn = await me.turns.get(run.turn)
        assert (turn.state, turn.step, turn.attempt) == ("running", 2, 2)
        assert await me.streamed(run.turn) == ""
        lease = await me.claim(run.session)
        again = run._replace(lease=lease)
        await me.stream(again, "Second", attempt=2)
        assert await me.streamed(run.turn) == "Second"


async def test_store_goes_on_where_it_was(data: Path, url: str) -> None:
    await moved(data, url)
    async with on_postgres(data, url) as store:
        me = Driver(store, await store.users.get(USER))
        session = await me.session()
        await me.talk(session, "What is new?", "A heron")
        await me.talk(TALK, "And what is old?", "A fox")
        assert await me.texts(session) == ["What is new?", "A heron"]
        assert await me.found("heron") != []
        orphans = await store.work.orphans()
        assert [orphan.session for orphan in orphans] == [LIVE]
        # Whoever held it before can't write any more.
        token = (await me.claim(LIVE)).token
        assert token > token_of(data, LIVE)


def token_of(data: Path, session: SessionId) -> int:
    connection = connect_reader(data / DATABASE)
    try:
        ((token,),) = connection.rows("SELECT token FROM sessions WHERE id = ?", (session,))
    finally:
        connection.close()
    assert isinstance(token, int)
    return token


@pytest.mark.timeout(DEADLINE + 60)
async def test_killed_move_goes_on_and_doubles_nothing(data: Path, url: str) -> None:
    """Before and after commits: of rows, of the index of facts, of that of messages."""
    chance = random.Random(SEED)  # noqa: S311
    armed = [
        f"move.slice.{chance.choice(('before', 'after'))}=kill:{chance.randint(1, 4)}"
        for _ in range(5)
    ]
    armed += [f"store.commit.{when}=kill:2" for when in ("before", "after", "before")]
    async with asyncio.timeout(DEADLINE):
        for each in armed:
            assert await (await start_move(data, url, each)).wait() == -signal.SIGKILL, each
        assert await (await start_move(data, url)).wait() == 0
    assert differing(await verified(data, url)) == []
    await same_on_both(data, url)


@pytest.mark.timeout(DEADLINE + 60)
async def test_move_killed_at_any_moment_goes_on(data: Path, url: str) -> None:
    chance = random.Random(SEED)  # noqa: S311
    async with asyncio.timeout(DEADLINE):
        for share in sorted(chance.random() for _ in range(3)):
            move = await start_move(data, url)
            await eventually(lambda share=share, move=move: has_come(move, url, share), seconds=60)
            with contextlib.suppress(ProcessLookupError):
                move.kill()
            await move.wait()
        assert await (await start_move(data, url)).wait() in (0, 1)  # 1: it was done already
    assert differing(await verified(data, url)) == []
    await same_on_both(data, url)


async def has_come(move: Process, url: str, share: float) -> bool:
    """How far: this much of some 30 tables, or to its end."""
    if move.returncode is not None:
        return True
    connection = await connect(StoreAddress(url), cached=False)
    try:
        book = await read_book(connection)
    finally:
        await connection.close(timeout=60)
    return sum([entry.rows > 0 for entry in book.values()]) >= share * 25


async def start_move(data: Path, url: str, armed: str = "") -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "roost",
        "migrate",
        "--data",
        str(data),
        env={"PATH": os.environ["PATH"], "ROOST_STORE": url, "ROOST_FAULTS": armed},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def test_half_a_store_is_not_started_on(data: Path, url: str) -> None:
    with faults.failing("move.slice.before", nth=7), pytest.raises(faults.FaultError):
        await moved(data, url)
    with pytest.raises(ConfigError, match="not all of it is there"):
        async with on_postgres(data, url):
            pass
    assert differing(await moved(data, url)) == []
    async with on_postgres(data, url) as store:
        assert len(await store.users.all()) == 2


async def test_store_that_changed_meanwhile_is_not_mixed(data: Path, url: str) -> None:
    with faults.failing("move.slice.before", nth=7), pytest.raises(faults.FaultError):
        await moved(data, url)
    async with opened(data) as store:
        await store.users.create(User(id=UserId("usr_aaa"), name="a newcomer", role="member"))
    before = await rows_in(url)
    with pytest.raises(Conflict, match=r"changed since its move began \(its users\)"):
        await moved(data, url)
    assert await rows_in(url) == before


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("messages", "UPDATE messages SET parts = replace(parts, 'quick', 'quirk') WHERE seq = 1"),
        ("messages", "UPDATE messages SET created_at = created_at + 1 WHERE seq = 1"),
        ("blob_pieces", "UPDATE blob_pieces SET data = overlay(data PLACING 'x' FROM 9)"),
        ("settings", "INSERT INTO settings VALUES ('', 'extra', '1', 0)"),
        ("events", "DELETE FROM events WHERE seq = 2"),
        ("secrets", "UPDATE secrets SET sealed = sealed || 'x'"),
        ("search", "DELETE FROM search WHERE seq = 1"),
    ],
)
async def test_tampering_is_found(data: Path, url: str, name: str, sql: str) -> None:
    await moved(data, url)
    assert differing(await verified(data, url)) == []
    await run_sql(url, sql)
    assert differing(await verified(data, url)) == [name]


async def test_text_that_postgres_does_not_take_is_mended_and_told(data: Path, url: str) -> None:
    async with opened(data) as store:
        await store.of(USER).sessions.create(
            NewSession(id=SessionId("ses_nul"), origin="web", title="a\0b")
        )
    with source.opened(data, {}, "test") as old:
        async with target.reached(StoreAddress(url)) as new:
            assert differing(await move(old, new, Unwatched())) == []
        assert old.unstorable == {"sessions"}
    async with on_postgres(data, url) as store:
        titles = {each.title for each in await store.of(USER).sessions.page()}
        assert "a\N{REPLACEMENT CHARACTER}b" in titles


async def test_attachment_without_its_file_or_with_another_is_told(data: Path, url: str) -> None:
    first, second = sorted(path for path in (data / BLOBS).glob("??/*") if path.stat().st_size)
    first.unlink()
    second.write_bytes(b"other")
    with source.opened(data, {}, "test") as old:
        async with target.reached(StoreAddress(url)) as new:
            assert differing(await move(old, new, Unwatched())) == []
        assert (old.missing, old.damaged) == ({first.name}, {second.name})


async def test_attachment_that_is_being_forgotten_is_not_missed(data: Path, url: str) -> None:
    """A round was stopped between its file and its row."""
    forgotten = await leave_rows_without_files(data)
    with source.opened(data, {}, "test") as old:
        async with target.reached(StoreAddress(url)) as new:
            assert differing(await move(old, new, Unwatched())) == []
        assert old.missing == set()
    async with on_postgres(data, url) as store:
        blobs = store.of(USER).blobs
        blob = await blobs.put_bytes(LARGE, "text/plain")
        assert blob.id in forgotten
        assert await blobs.read_bytes(blob.id) == LARGE


async def test_move_that_was_broken_off_between_migrations_goes_on(
    data: Path, postgres_server: Server
) -> None:
    url = await postgres_server.empty()
    with faults.failing("store.migrate.after"), pytest.raises(faults.FaultError):
        await moved(data, url)
    assert differing(await moved(data, url)) == []


async def test_empty_database_gets_its_tables(data: Path, postgres_server: Server) -> None:
    url = await postgres_server.empty()
    assert differing(await moved(data, url)) == []


async def test_every_table_is_moved_or_said_to_stay(url: str) -> None:
    assert set(await rows_in(url)) | {"migration"} == {table.name for table in TABLES} | LEFT
