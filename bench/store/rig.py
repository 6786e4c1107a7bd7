"""What the measurements stand on: a scratch store with live turns, and the same work done bare."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from roost.core.clock import SystemClock
from roost.core.ids import (
    SessionId,
    TurnId,
    UserId,
    new_message_id,
    new_session_id,
    new_turn_id,
    new_user_id,
)
from roost.core.messages import Draft, TextPart
from roost.core.sessions import NewSession
from roost.core.turns import NewTurn, Step
from roost.core.users import User
from roost.store import statements
from roost.store.figures import CommitFigures
from roost.store.folder import DATABASE
from roost.store.leases import Lease, session_lease
from roost.store.operations import Engine, Operation, Query, SqlValue
from roost.store.sqlite.connect import Connection, connect_reader, connect_writer
from roost.store.sqlite.store import SqliteStore, open_store
from roost.store.store import UserStore

T = TypeVar("T")

CLOCK = SystemClock()
STATEMENTS = statements.load("sqlite")
_CAUGHT_UP = """
SELECT indexed >= (SELECT coalesce(max(seq), 0) FROM messages) FROM search_progress
"""

PROSE = "A step wrote this down, and then it went on to the next one, as steps do. "


class Live(msgspec.Struct, frozen=True):
    """A session with a turn that runs under a lease."""

    session: SessionId
    turn: TurnId
    lease: Lease


class Rig(msgspec.Struct, frozen=True):
    folder: Path
    store: SqliteStore
    user: UserId
    me: UserStore

    async def rest(self) -> None:
        """Wait until the store has caught up with its indexing, so that nothing runs beside what is
        measured next."""
        reader = connect_reader(self.folder / DATABASE)
        while not reader.rows(_CAUGHT_UP)[0][0]:  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.02)
        reader.close()

    async def live(self) -> Live:
        session, turn = new_session_id(), new_turn_id()
        await self.me.sessions.create(NewSession(id=session, origin="bench"))
        words = (TextPart("Begin."),)
        await self.me.queue.submit(session, NewTurn(id=turn, parts=words))
        lease = await self.store.leases.claim(session_lease(session), "bench:1:t:n")
        assert lease is not None
        await self.me.turns.start(
            session, lease.token, turn, Draft(new_message_id(), "user", words)
        )
        return Live(session, turn, lease)


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Rig]:
    store = open_store(folder, clock=CLOCK, version="bench")
    try:
        user = await store.users.create(User(id=new_user_id(), name="bench", role="admin"))
        yield Rig(folder, store, user.id, store.of(user.id))
    finally:
        await store.close()


def text_of(size: int) -> str:
    return (PROSE * (size // len(PROSE) + 1))[:size]


def step_of(size: int) -> Step:
    """A model's answer of so many characters."""
    return Step(messages=(Draft(new_message_id(), "assistant", (TextPart(text_of(size)),)),))


class Bare:
    """The least a durable write can be: one table, one insert, one commit, the store's pragmas."""

    def __init__(self, path: Path) -> None:
        self._connection = connect_writer(path)
        self._connection.rows("CREATE TABLE bare (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")

    def insert(self, body: str) -> None:
        self._connection.rows("INSERT INTO bare (body) VALUES (?)", (body,))

    def insert_all(self, bodies: Iterable[str]) -> None:
        self._connection.rows("BEGIN IMMEDIATE")
        for body in bodies:
            self._connection.rows("INSERT INTO bare (body) VALUES (?)", (body,))
        self._connection.rows("COMMIT")

    def close(self) -> None:
        self._connection.close()


class Recorder:
    """An engine that passes everything on, and keeps what each operation asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.operations: list[list[Query]] = []

    @property
    def figures(self) -> CommitFigures:
        return self._engine.figures

    async def write(self, operation: Callable[[], Operation[T]], *, vital: bool = False) -> T:
        return await self._engine.write(lambda: self._listen(operation()))

    async def read(self, operation: Callable[[], Operation[T]]) -> T:
        return await self._engine.read(lambda: self._listen(operation()))

    def _listen(self, operation: Operation[T]) -> Operation[T]:
        asked: list[Query] = []
        try:
            query = next(operation)
            while True:
                asked.append(query)
                query = operation.send((yield query))
        except StopIteration as stop:
            self.operations.append(asked)
            return stop.value


Raw = list[tuple[str, Sequence[SqlValue]]]
"""The statements of one operation with their parameters, ready to run."""


def raw(asked: list[Query]) -> Raw:
    now = CLOCK.now()
    found: Raw = []
    for query in asked:
        statement = STATEMENTS[query.name]
        found.append((statement.sql, statement.values({**query.parameters, "now": now})))
    return found


def replay(connection: Connection, operations: Iterable[Raw]) -> None:
    """Run the operations' statements in one transaction, with nothing around them."""
    connection.rows("BEGIN IMMEDIATE")
    for operation in operations:
        for sql, parameters in operation:
            connection.rows(sql, parameters)
    connection.rows("COMMIT")
