"""Writes to a store as fast as it can until it is killed, saying what it asks for and is answered.

`python -m tests.faults.writer FOLDER` is a nursery: everything is imported, and for every line on
its standard input, a seed and the faults to arm, it forks a writer.
"""

import asyncio
import faulthandler
import os
import random
import sys
import traceback
from collections.abc import Awaitable
from itertools import count
from pathlib import Path
from typing import TypeVar

import structlog

from roost.core.clock import SystemClock
from roost.core.compaction import Compaction, Replacement
from roost.core.events import Deltas, TextDelta
from roost.core.ids import (
    BlobId,
    MessageId,
    SessionId,
    TurnId,
    UserId,
    new_message_id,
    new_session_id,
    new_tool_call_id,
    new_turn_id,
)
from roost.core.messages import (
    Draft,
    FilePart,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    encode_parts,
)
from roost.core.sessions import NewSession
from roost.core.turns import NewTurn, OutboxEntry, Step, TurnEnd
from roost.core.usage import Usage
from roost.core.users import User
from roost.store.history import History
from roost.store.leases import Lease, session_lease
from roost.store.sessions import SessionFilter, SessionPatch
from roost.store.sqlite.store import SqliteStore, open_store
from roost.store.work import Checkpoint, Orphan
from roost.testing import faults
from tests.faults.ledger import (
    Answered,
    Ask,
    Born,
    Broke,
    Died,
    Fact,
    Line,
    Opened,
    encode_line,
)

USER = UserId("usr_killed")
MAILBOX = SessionId("ses_mailbox")
SESSIONS = 3
SAY = 1  # standard output

ATTEMPT = "(SELECT s.attempt FROM sessions s WHERE s.id = streams.session_id)"
LAST_SEQ = f"iif(attempt = {ATTEMPT}, last_seq, 0)"
"""Of a stream."""

T = TypeVar("T")


def say(line: Line) -> None:
    os.write(SAY, encode_line(line) + b"\n")


def body(number: int) -> str:
    return f"delta {number}."


def message_facts(draft: Draft) -> list[Fact]:
    return [
        Fact("messages", draft.id, "parts", encode_parts(draft.parts)),
        Fact("messages", draft.id, "gone", None),
    ]


def gone(messages: list[MessageId], epoch: int | None) -> list[Fact]:
    return [Fact("messages", message, "gone", epoch) for message in messages]


class Life:
    """One writer, from the opening of the store to its death."""

    def __init__(self, store: SqliteStore, seed: int) -> None:
        self.store = store
        self.me = store.of(USER)
        self.random = random.Random(seed)  # noqa: S311 (reproducible, not secret)
        self._numbers = count(1)

    async def ask(self, session: str, call: Awaitable[T], *facts: Fact, raises: bool = True) -> T:
        number = next(self._numbers)
        say(Ask(number, session, raises, facts))
        result = await call
        say(Answered(number))
        return result

    def words(self) -> str:
        return " ".join(self.random.choices(["pine", "oak", "ash", "日本語", "elm"], k=30))

    async def claim(self, session: SessionId) -> Lease:
        lease = await self.store.leases.claim(session_lease(session), f"host:{os.getpid()}:t:n")
        assert lease is not None, f"a predecessor still holds {session}"
        return lease

    async def run(self) -> None:
        await self.ask(
            "",
            self.store.users.create(User(id=USER, name="killed", role="admin")),
            Fact("users", USER, "name", "killed"),
            raises=False,
        )
        for orphan in await self.store.work.orphans():
            await self.take_over(orphan)
        say(Opened())
        await self.open(MAILBOX)
        page = await self.me.sessions.page(SessionFilter(project="talk"), limit=SESSIONS)
        talks = [session.id for session in page]
        talks += [new_session_id() for _ in range(SESSIONS - len(talks))]
        async with asyncio.TaskGroup() as tasks:
            for session in talks:
                tasks.create_task(self.talk(session))
            tasks.create_task(self.post())
            tasks.create_task(self.upload())

    async def take_over(self, orphan: Orphan) -> None:
        """Keep what a dead turn had streamed."""
        lease = await self.claim(orphan.session)
        stored = [delta for run in await self.me.turns.deltas(orphan.turn) for delta in run.deltas]
        assert [d.text for d in stored if isinstance(d, TextDelta)] == [
            body(n) for n in range(1, len(stored) + 1)
        ], "streamed text was lost"
        await self.end(orphan.session, lease, orphan.turn, "interrupted")

    async def open(self, session: SessionId, project: str | None = None) -> None:
        pages = await self.me.sessions.page(SessionFilter(project=project), limit=200)
        if session in [found.id for found in pages]:
            return
        new = NewSession(id=session, origin="test", project=project)
        await self.ask(
            session, self.me.sessions.create(new), Fact("sessions", session, "origin", "test")
        )

    async def talk(self, session: SessionId) -> None:
        """A session's own task: turn after turn, a rewrite now and then, renames beside."""
        await self.open(session, "talk")
        said = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.rename(session, said))
            for _ in range(self.random.randrange(3, 30)):
                await self.turn(session)
                await self.rewrite(session)
            said.set()
        await self.ask(
            session,
            self.me.sessions.delete(session),
            Fact("sessions", session, "deleted_at IS NOT NULL", 1),
            raises=False,
        )
        await self.talk(new_session_id())

    async def rename(self, session: SessionId, said: asyncio.Event) -> None:
        numbers = count()
        while not said.is_set():
            title = f"{os.getpid()} {next(numbers)}"
            await self.ask(
                session,
                self.me.sessions.update(session, SessionPatch(title=title)),
                Fact("sessions", session, "title", title),
            )

    async def submit(self, session: SessionId, *parts: Part) -> TurnId:
        turn = new_turn_id()
        new = NewTurn(id=turn, parts=(TextPart(self.words()), *parts), key=f"key of {turn}")
        await self.ask(
            session,
            self.me.queue.submit(session, new),
            Fact("turns", new.id, "state", "queued"),
            Fact("turns", new.id, "input", encode_parts(new.parts)),
        )
        return new.id

    async def turn(self, session: SessionId) -> None:
        if not await self.me.queue.of(session):
            await self.submit(session)
        first = (await self.me.queue.of(session))[0]
        lease = await self.claim(session)
        draft = Draft(new_message_id(), "user", first.parts)
        begun = await self.ask(
            session,
            self.me.turns.start(session, lease.token, first.id, draft),
            Fact("turns", first.id, "state", "running"),
            Fact("streams", first.id, ATTEMPT, 1),
            Fact("streams", first.id, LAST_SEQ, 0),
            *message_facts(draft),
        )
        await self.stream(session, lease, first.id, begun.attempt)
        await self.step(session, lease, first.id, begun.attempt)
        await self.stream(session, lease, first.id, begun.attempt + 3)
        state = self.random.choice(["completed", "failed", "cancelled"])
        await self.end(session, lease, first.id, state)

    async def stream(self, session: SessionId, lease: Lease, turn: TurnId, attempt: int) -> None:
        seq = 0
        for _ in range(self.random.randrange(4)):
            numbers = range(seq + 1, seq + self.random.randrange(2, 6))
            seq = numbers[-1]
            deltas = Deltas(numbers[0], seq, tuple(TextDelta(body(n)) for n in numbers))
            ticked = await self.ask(
                session,
                self.store.work.tick([Checkpoint(turn, attempt, lease.token, deltas)], [lease]),
                Fact("streams", turn, LAST_SEQ, seq),
                raises=False,
            )
            assert (ticked.stored, ticked.lost) == ({turn: seq}, frozenset()), ticked

    async def step(self, session: SessionId, lease: Lease, turn: TurnId, attempt: int) -> None:
        call = new_tool_call_id()
        parts = (TextPart(self.words()), ToolCallPart(call, "look", "{}"))
        draft = Draft(new_message_id(), "assistant", parts)
        usage = Usage("p", "m", input_tokens=5, output_tokens=2, cost=3)
        step = Step(messages=(draft,), usage=(usage,), unfinished=True)
        row = f"{session}/{call}"
        await self.ask(
            session,
            self.me.turns.append(session, lease.token, turn, step),
            Fact("tool_calls", row, "state", "requested"),
            Fact("streams", turn, ATTEMPT, attempt + 1),
            Fact("streams", turn, LAST_SEQ, 0),
            *message_facts(draft),
        )
        for state in ("running", "done"):
            await self.ask(
                session,
                self.me.turns.set_tool_call(session, lease.token, turn, call, state),
                Fact("tool_calls", row, "state", state),
            )
        result = (ToolResultPart(call, (TextPart(self.words()),)),)
        draft = Draft(new_message_id(), "tool", result)
        await self.ask(
            session,
            self.me.turns.append(session, lease.token, turn, Step(messages=(draft,))),
            Fact("streams", turn, ATTEMPT, attempt + 2),
            *message_facts(draft),
        )
        await self.ask(
            session,
            self.me.turns.retry_step(session, lease.token, turn, after=attempt + 2),
            Fact("streams", turn, ATTEMPT, attempt + 3),
        )

    async def end(self, session: SessionId, lease: Lease, turn: TurnId, state: str) -> None:
        answer = Draft(new_message_id(), "assistant", (TextPart(self.words()),))
        note = Draft(new_message_id(), "note", (TextPart(self.words()),))
        end = TurnEnd(
            state=state,  # pyright: ignore[reportArgumentType]
            messages=(answer, note),
            usage=(Usage("p", "n", output_tokens=1),),
            outbox=(OutboxEntry(f"out_{turn}_{lease.token}", "telegram:dm:1", "{}"),),
            memory_scope="builtin",
        )
        await self.ask(
            session,
            self.me.turns.end(session, lease.token, turn, end),
            Fact("turns", turn, "state", state),
            Fact("streams", turn, ATTEMPT, None),
            Fact("streams", turn, LAST_SEQ, None),
            Fact("outbox", f"out_{turn}_{lease.token}", "turn_id", turn),
            *message_facts(answer),
            *message_facts(note),
        )

    async def rewrite(self, session: SessionId) -> None:
        kind = self.random.choice(["undo", "edit", "clear", "compact", "branch", "none", "none"])
        history = await self.me.history.load(session)
        messages = [message.id for message in history.messages]
        epoch = history.session.epoch + 1
        if kind == "none":
            return
        if kind == "branch":
            await self.branch(history)
            return
        lease = await self.claim(session)
        raised = Fact("sessions", session, "epoch", epoch)
        last = next(m.turn for m in reversed(history.messages) if m.turn is not None)
        of_last = [message.id for message in history.messages if message.turn == last]
        if kind == "undo":
            await self.ask(
                session,
                self.me.history.undo(session, lease.token, last),
                raised,
                Fact("turns", last, "undone", epoch),
                *gone(of_last, epoch),
            )
        elif kind == "edit":
            new = NewTurn(id=new_turn_id(), parts=(TextPart(self.words()),))
            await self.ask(
                session,
                self.me.history.edit(session, lease.token, last, new),
                raised,
                Fact("turns", last, "undone", epoch),
                Fact("turns", new.id, "state", "queued"),
                *gone(of_last, epoch),
            )
        elif kind == "clear":
            await self.ask(
                session,
                self.me.history.clear(session, lease.token),
                raised,
                *gone(messages, epoch),
            )
        else:
            await self.compact(session, lease, epoch, messages)
        await self.store.leases.release(lease)

    async def compact(
        self, session: SessionId, lease: Lease, epoch: int, messages: list[MessageId]
    ) -> None:
        note = Draft(new_message_id(), "note", (TextPart("summary"),))
        compaction = Compaction(
            epoch=epoch - 1,
            replaced=tuple(messages),
            replacements=(Replacement(messages[0], note),),
            trigger="test",
            usage=(Usage("p", "m", input_tokens=9, cost=1),),
        )
        await self.ask(
            session,
            self.me.history.compact(session, lease.token, compaction),
            Fact("sessions", session, "epoch", epoch),
            *gone(messages, epoch),
            *message_facts(note),
        )
        if self.random.random() < 0.5:
            await self.ask(
                session,
                self.me.history.restore(session, lease.token),
                Fact("sessions", session, "epoch", epoch + 1),
                *gone([note.id], epoch + 1),
                *gone(messages, None),
            )

    async def branch(self, history: History) -> None:
        """Calls without a result get one in the branch, all in one message."""
        new = NewSession(id=new_session_id(), origin="test", project="branch")
        parts = [part for message in history.messages for part in message.parts]
        called = {part.call for part in parts if isinstance(part, ToolCallPart)}
        answered = {part.call for part in parts if isinstance(part, ToolResultPart)}
        messages = history.session.counters.messages + bool(called - answered)
        await self.ask(
            new.id,
            self.me.branches.branch(history.session.id, new),
            Fact("sessions", new.id, "messages", messages),
            raises=False,
        )

    async def post(self) -> None:
        """Queues messages, changes them, takes some back; points routes, keeps settings."""
        for number in count():
            turn = await self.submit(MAILBOX)
            parts = (TextPart(self.words()),)
            await self.ask(
                MAILBOX,
                self.me.queue.edit(turn, parts),
                Fact("turns", turn, "input", encode_parts(parts)),
            )
            await self.ask(
                MAILBOX,
                self.me.queue.remove(turn),
                Fact("turns", turn, "state", "removed"),
            )
            value = str(number)
            await self.ask(
                "",
                self.me.settings.put(f"{os.getpid()} {number}", value),
                Fact("settings", f"{os.getpid()} {number}", "value", value),
                raises=False,
            )
            await self.ask(
                "",
                self.me.sessions.point(f"web {number % 7}", MAILBOX),
                Fact("routes", f"web {number % 7}", "session_id", MAILBOX),
                raises=False,
            )
            await self.store.secrets.put("key", value)

    async def upload(self) -> None:
        while True:
            data = self.random.randbytes(self.random.choice([10, 5000, 70_000]))
            size = len(data)
            # The row may be there before the bytes are: until then, nobody was told of it.
            blob = await self.me.blobs.put_bytes(data, "text/plain")
            await self.ask("", asyncio.sleep(0), Fact("blobs", blob.id, "size", size), raises=False)
            await self.submit(MAILBOX, FilePart(BlobId(blob.id), "text/plain", "f.txt", len(data)))


async def live(folder: Path, seed: int) -> None:
    store = open_store(folder, clock=SystemClock(), version="0")
    try:
        await Life(store, seed).run()
    except* Exception:  # noqa: BLE001 (the last thing it does is to tell)
        say(Broke(traceback.format_exc()))


def nursery(folder: Path) -> None:
    for line in sys.stdin:
        seed, armed = line.rstrip("\n").split(" ", 1)
        pid = os.fork()
        if pid == 0:
            try:
                faults.arm_from_environment({"ROOST_FAULTS": armed})
                asyncio.run(live(folder, int(seed)))
            except BaseException:  # noqa: BLE001 (the last thing this process does is to tell)
                say(Broke(traceback.format_exc()))
            finally:
                os._exit(1)
        say(Born(pid))
        _, status = os.waitpid(pid, 0)
        os.write(SAY, b"\n")  # it may have died in the middle of a line
        say(Died(pid, status))


if __name__ == "__main__":
    faulthandler.enable()
    # Standard output is for what is said: a log among it would spoil lines.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    nursery(Path(sys.argv[1]))
