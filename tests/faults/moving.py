"""A store that moves to PostgreSQL, and what is in it before and after."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from roost.core.errors import StoreUnavailable
from roost.core.ids import UserId
from roost.core.keys import StoreAddress
from roost.core.users import User
from roost.store.folder import BLOBS, DATABASE
from roost.store.moving import source, target
from roost.store.moving.move import Compared, Watch, move, verify
from roost.store.moving.source import Source
from roost.store.moving.target import Target
from roost.store.operations import Row
from roost.store.postgres.connect import connect, fetch
from roost.store.postgres.store import PostgresStore
from roost.store.postgres.store import open_store as open_postgres
from roost.store.sqlite.connect import connect_writer
from roost.store.upkeep import DAY
from roost.testing.clock import FakeClock
from roost.testing.faults import failing
from tests.faults.scene import USER, opened, populate

LARGE = bytes(range(256)) * 40_000  # of several slices

REST = """
INSERT INTO sign_ins (id, user_id, kind, hash, created_at, expires_at)
    VALUES ('sig_1', 'usr_ann', 'link', x'00ff', 1, 9223372036854775807);
INSERT INTO api_tokens (id, user_id, name, hash, scopes, created_at)
    VALUES ('tok_1', 'usr_ann', '', x'', '[]', -1);
INSERT INTO settings (user_id, key, value, updated_at)
    VALUES ('', '\uffee', '1', 0), ('', '\U0001f600', '2', 0), ('', 'é', '3', 0), ('', 'Z', '4', 0);
INSERT INTO prompts (session_id, revision, signature, system, tools, created_at)
    VALUES ('ses_talk', 10, 's', 'kind', '[]', 1), ('ses_talk', 9, 's', 'e\u0301\r\n', '[]', 1);
INSERT INTO pairings (channel, sender, user_id, state, code_hash, created_at)
    VALUES ('telegram', '1', 'usr_ann', 'approved', NULL, 1),
        ('telegram', '2', NULL, 'pending', x'c0de', 1);
INSERT INTO approvals (id, session_id, turn_id, call_id, kind, arguments, question, state,
        asked_at, expires_at)
    VALUES ('apr_1', 'ses_live', 'trn_live', 'cal', 'question', x'ff', '{}', 'pending', 1, 2);
INSERT INTO approval_rules (id, user_id, session_id, tool, decision, created_at)
    VALUES ('rul_1', 'usr_ann', NULL, 'look', 'allow', 1);
INSERT INTO memory_segments (id, session_id, user_id, scope, state, due_at, created_at, failures)
    VALUES ('seg_1', 'ses_talk', 'usr_ann', 'builtin', 'pending', 1, 1, 3);
UPDATE turns SET segment_id = 'seg_1' WHERE id = 'trn_done';
INSERT INTO inbox (channel, external_id, arrival, route, body, received_at, plan)
    VALUES ('telegram', '10', 2, 'dm:1', NULL, 1, '{}'), ('telegram', '9', 1, 'dm:1', NULL, 1, '');
UPDATE inbox SET handled_at = 7;
INSERT INTO channel_cursors VALUES ('telegram', 'updates', '10');
INSERT INTO outbox_pieces (outbox_id, number, body) VALUES ('out_1', 0, '{}'), ('out_1', 10, '{}');
INSERT INTO progress VALUES ('trn_live', 'telegram:dm:1', '77', 1);
INSERT INTO schedules (id, user_id, name, kind, spec, time_zone, input, missed, created_at)
    VALUES ('sch_1', 'usr_ann', 'n', 'every', '60', 'UTC', '[]', 'once', 1);
INSERT INTO schedule_runs (schedule_id, tick, created_at) VALUES ('sch_1', 5, 6), ('sch_1', 50, 51);
INSERT INTO search_vectors (seq, model, vector) SELECT seq, 'small', x'0102' FROM facts;
"""
"""What `populate` leaves out, with keys that are easily sorted in different ways."""


async def fill(folder: Path) -> None:
    """With a store that was stopped in the middle of things."""
    async with opened(folder) as store:
        await populate(store)
        me = store.of(USER)
        await me.secrets.put("mine", "of Ann's own")
        await me.blobs.put_bytes(LARGE, "application/octet-stream")
        await me.blobs.put_bytes(b"", "text/plain")
        await store.users.create(
            User(id=UserId("usr_bob"), name="Bøb \N{GRINNING FACE}", role="member")
        )
    connection = connect_writer(folder / DATABASE)
    connection.rows(REST)
    connection.close()


async def leave_rows_without_files(folder: Path) -> set[str]:
    """Of attachments that a round of upkeep was forgetting when it was stopped."""
    before, clock = files_in(folder), FakeClock()
    clock.advance(2 * DAY)
    nth = 0
    while before == (left := files_in(folder)):
        nth += 1
        async with opened(folder, clock) as store:
            with contextlib.suppress(StoreUnavailable), failing("store.commit.before", nth=nth):
                await store.upkeep.run()
    return before - left


def files_in(folder: Path) -> set[str]:
    return {file.name for file in (folder / BLOBS).glob("??/*")}


class Unwatched:
    def begin(self, what: str, total: int) -> None: ...

    def advance(self, detail: str, by: int) -> None: ...


Work = Callable[[Source, Target, Watch], Awaitable[list[Compared]]]


async def moved(data: Path, url: str, work: Work = move) -> list[Compared]:
    with source.opened(data, {}, "test") as old:
        async with target.reached(StoreAddress(url)) as new:
            return await work(old, new, Unwatched())


async def verified(data: Path, url: str) -> list[Compared]:
    return await moved(data, url, verify)


def differing(compared: list[Compared]) -> list[str]:
    return [each.name for each in compared if not each.equal]


@asynccontextmanager
async def on_postgres(data: Path, url: str) -> AsyncGenerator[PostgresStore]:
    clock = FakeClock()
    store = await open_postgres(
        StoreAddress(url), data, clock=clock, version="test", started_at=clock.now()
    )
    try:
        yield store
    finally:
        await store.close()


async def rows_in(url: str) -> dict[str, list[Row]]:
    """Every row of a database."""
    connection = await connect(StoreAddress(url), cached=False)
    try:
        names = await fetch(
            connection, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'"
        )
        return {
            str(name): sorted(await fetch(connection, f"SELECT t::text FROM {name} t"), key=repr)
            for (name,) in names
        }
    finally:
        await connection.close(timeout=60)


async def run_sql(url: str, sql: str) -> None:
    connection = await connect(StoreAddress(url), cached=False)
    try:
        await connection.execute(sql)
    finally:
        await connection.close(timeout=60)
