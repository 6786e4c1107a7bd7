"""Drives a store the way the runtime does, in few words: what a test does not say is filled in."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from roost.core.approvals import Question
from roost.core.clock import Clock
from roost.core.compaction import Compaction, Replacement
from roost.core.events import Delta, Deltas, TextDelta
from roost.core.ids import (
    MessageId,
    SessionId,
    Token,
    ToolCallId,
    TurnId,
    new_approval_id,
    new_message_id,
    new_session_id,
    new_tool_call_id,
    new_turn_id,
    new_user_id,
)
from roost.core.keys import StoreAddress
from roost.core.messages import Draft, Message, Part, Role, TextPart, ToolCallPart, plain_text
from roost.core.sessions import NewSession, Session
from roost.core.signature import AgentConfig, Signature
from roost.core.turns import Begun, EndState, NewTurn, Step, TurnEnd
from roost.core.users import User, UserRole
from roost.store.folder import KEY
from roost.store.leases import Lease, session_lease
from roost.store.postgres.store import PostgresStore
from roost.store.postgres.store import open_store as open_postgres
from roost.store.search import Hit, SearchFilter
from roost.store.sessions import Prompt
from roost.store.sqlite.store import SqliteStore, open_store
from roost.store.store import Store
from roost.store.upkeep import Retention
from roost.store.watching import Changes
from roost.store.work import Checkpoint, Tick

T = TypeVar("T")

HOLDER = "host:1:task:first"
OTHER_HOLDER = "host:2:task:second"
CONFIG = AgentConfig(provider="p", model="m", protocol="chat", base_url="http://localhost")
PROMPT = Prompt(Signature("signature"), "Be kind.", "[]")


def text(*texts: str) -> tuple[Part, ...]:
    return tuple(TextPart(one) for one in texts)


def draft(words: str, role: Role = "assistant", *, id: MessageId | None = None) -> Draft:
    return Draft(id or new_message_id(), role, text(words))


def new_session(origin: str = "web") -> NewSession:
    return NewSession(id=new_session_id(), origin=origin)


def new_turn(words: str = "Hello", *, key: str | None = None, steer: bool = False) -> NewTurn:
    return NewTurn(id=new_turn_id(), parts=text(words), key=key, steer=steer)


def question(call: ToolCallId) -> Question:
    return Question(
        id=new_approval_id(),
        call=call,
        kind="approval",
        arguments=b"hash",
        body='{"text":"May I?"}',
        directory="/home",
        workspace="wsp_1",
    )


def deltas(words: str, *, first: int = 1) -> Deltas:
    """One delta per character."""
    streamed: tuple[Delta, ...] = tuple(TextDelta(letter) for letter in words)
    return Deltas(first, first + len(words) - 1, streamed)


def summary(
    epoch: int, replaced: tuple[MessageId, ...], words: str = "In short: words."
) -> Compaction:
    """A compaction that puts one note in the place of the first replaced message."""
    note = Replacement(replaced[0], draft(words, "note"))
    return Compaction(epoch=epoch, replaced=replaced, replacements=(note,), trigger="test")


async def eventually(check: Callable[[], Awaitable[T]], *, seconds: float = 60) -> T:
    """The first truthy answer. For what follows a commit in the background."""
    async with asyncio.timeout(seconds):
        while not (answer := await check()):  # noqa: ASYNC110 (the store gives no sign)
            await asyncio.sleep(0.002)
        return answer


AnyStore = SqliteStore | PostgresStore

databases: dict[Path, str] = {}
"""The addresses of the databases that belong to data folders, where those have no file."""
directs: dict[Path, str] = {}
"""By which addresses they hear of other servers, where those are others."""


async def open_any(
    folder: Path,
    clock: Clock,
    *,
    lease_ttl: float = 30.0,
    retention: Retention = Retention(),  # noqa: B008 (frozen)
) -> AnyStore:
    if (url := databases.get(folder)) is None:
        return open_store(
            folder, clock=clock, version="test", lease_ttl=lease_ttl, retention=retention
        )
    return await open_postgres(
        StoreAddress(url),
        folder,
        direct=StoreAddress(directs[folder]) if folder in directs else None,
        clock=clock,
        version="test",
        started_at=clock.now(),
        lease_ttl=lease_ttl,
        retention=retention,
    )


def beside(folder: Path, other: Path) -> Path:
    """A data folder for another server on the same database, with the same key."""
    other.mkdir(mode=0o700, exist_ok=True)
    shutil.copy(folder / KEY, other / KEY)
    databases[other] = databases[folder]
    return other


@asynccontextmanager
async def opened(folder: Path, clock: Clock) -> AsyncGenerator[AnyStore]:
    store = await open_any(folder, clock)
    try:
        yield store
    finally:
        await store.close()


class Run(NamedTuple):
    """A turn under way, and what its runner holds."""

    session: SessionId
    turn: TurnId
    lease: Lease

    @property
    def token(self) -> Token:
        return self.lease.token


class Driver:
    """One user of a store, with the runtime's hands."""

    def __init__(self, store: Store, user: User) -> None:
        self.store = store
        self.user = user
        mine = store.of(user.id)
        self.sessions = mine.sessions
        self.queue = mine.queue
        self.turns = mine.turns
        self.approvals = mine.approvals
        self.history = mine.history
        self.branches = mine.branches
        self.search = mine.search
        self.facts = mine.facts
        self.usage = mine.usage
        self.schedules = mine.schedules
        self.blobs = mine.blobs
        self.transfer = mine.transfer
        self.settings = mine.settings
        self.secrets = mine.secrets

    @classmethod
    async def of(cls, store: Store, name: str, role: UserRole = "member") -> "Driver":
        user = await store.users.create(User(id=new_user_id(), name=name, role=role))
        return cls(store, user)

    # Writing.

    async def session(self) -> SessionId:
        return (await self.sessions.create(new_session())).id

    async def submit(self, session: SessionId, words: str = "Hello") -> TurnId:
        return (await self.queue.submit(session, new_turn(words))).id

    async def claim(self, session: SessionId, holder: str = HOLDER) -> Lease:
        lease = await self.store.leases.claim(session_lease(session), holder)
        assert lease is not None, "somebody else holds it"
        return lease

    async def release(self, session: SessionId) -> None:
        lease = await self.store.leases.holder(session_lease(session))
        assert lease is not None, "nobody holds it"
        await self.store.leases.release(lease)

    async def start(self, turn: TurnId, lease: Lease) -> Run:
        found = await self.turns.get(turn)
        message = Draft(new_message_id(), "user", found.parts)
        await self.turns.start(found.session, lease.token, turn, message)
        return Run(found.session, turn, lease)

    async def run(self, session: SessionId | None = None, words: str = "Hello") -> Run:
        """A turn of its own, or of the given session, that has just started."""
        session = session or await self.session()
        turn = await self.submit(session, words)
        return await self.start(turn, await self.claim(session))

    async def say(self, run: Run, words: str, *, unfinished: bool = False) -> MessageId:
        """Finish a step with one message of the assistant's."""
        message = draft(words)
        step = Step(messages=(message,), unfinished=unfinished)
        await self.turns.append(run.session, run.token, run.turn, step)
        return message.id

    async def call_tool(self, run: Run, name: str = "ls") -> ToolCallPart:
        """Finish a step that asks for a tool."""
        call = ToolCallPart(new_tool_call_id(), name, "{}")
        step = Step(messages=(Draft(new_message_id(), "assistant", (call,)),))
        await self.turns.append(run.session, run.token, run.turn, step)
        return call

    async def park(self, run: Run, *, ttl: float = 3600) -> Question:
        """Ask for a tool, and wait for a person to allow it."""
        asked = question((await self.call_tool(run)).call)
        await self.turns.park(run.session, run.token, run.turn, (asked,), ttl=ttl)
        return asked

    async def retry(self, run: Run) -> Begun:
        """Open the next attempt of the step."""
        attempt = (await self.turns.get(run.turn)).attempt
        return await self.turns.retry_step(run.session, run.token, run.turn, after=attempt)

    async def resume(self, run: Run) -> Begun:
        """Go on where the turn stopped."""
        attempt = (await self.turns.get(run.turn)).attempt
        return await self.turns.resume(run.session, run.token, run.turn, after=attempt)

    async def end(
        self, run: Run, words: str | None = None, *, state: EndState = "completed"
    ) -> None:
        messages = (draft(words),) if words is not None else ()
        end = TurnEnd(state=state, messages=messages)
        await self.turns.end(run.session, run.token, run.turn, end)

    async def talk(
        self, session: SessionId, question: str = "Hello", answer: str = "Good day"
    ) -> TurnId:
        """A whole turn."""
        run = await self.run(session, question)
        await self.end(run, answer)
        return run.turn

    async def stream(self, run: Run, words: str, *, first: int = 1, attempt: int = 1) -> Tick:
        checkpoint = Checkpoint(run.turn, attempt, run.token, deltas(words, first=first))
        return await self.store.work.tick([checkpoint], [run.lease])

    async def compact(self, session: SessionId, words: str = "In short: words.") -> None:
        """Replace all of the live history by a summary."""
        found = await self.history.load(session)
        replaced = tuple(message.id for message in found.messages)
        lease = await self.claim(session)
        await self.history.compact(
            session, lease.token, summary(found.session.epoch, replaced, words)
        )
        await self.store.leases.release(lease)

    # Reading.

    async def live(self, session: SessionId) -> list[Message]:
        return list((await self.history.load(session)).messages)

    async def texts(self, session: SessionId) -> list[str]:
        return [plain_text(message.parts) for message in await self.live(session)]

    async def streamed(self, turn: TurnId) -> str:
        return "".join(
            delta.text
            for run in await self.turns.deltas(turn)
            for delta in run.deltas
            if isinstance(delta, TextDelta)
        )

    async def everything(self, session: SessionId) -> tuple[Session, Changes, bytes, list[str]]:
        """All that can be read of a session, to compare before and after."""
        turns = await self.turns.of(session)
        return (
            await self.sessions.get(session),
            await self.history.since(session, 0),
            await self.transfer.export(session),
            [await self.streamed(turn.id) for turn in turns],
        )

    async def indexed(self) -> None:
        """Wait until everything written so far can be found: the index takes messages in order."""
        word = new_message_id().replace("_", "")
        await self.talk(await self.session(), word)
        await eventually(lambda: self.search(word))

    async def find(self, words: str, where: SearchFilter | None = None) -> list[Hit]:
        await self.indexed()
        return list(await self.search(words, where or SearchFilter()))

    async def found(self, words: str, where: SearchFilter | None = None) -> list[MessageId]:
        return [hit.message for hit in await self.find(words, where)]
