"""Branches of long sessions: in parts, unseen until complete, of what was there when asked for."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from roost.core.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from roost.core.ids import SessionId, new_message_id
from roost.core.messages import Draft, Message, Part, TextPart, ToolResultPart
from roost.core.sessions import NewSession, Session
from roost.core.turns import Step, TurnEnd
from roost.store.branches import Branches
from roost.store.figures import CommitFigures
from roost.store.operations import Engine, Operation
from roost.testing.clock import FakeClock
from roost.testing.faults import failing
from tests.store_driver import Driver, Run, eventually, new_session
from tests.unit.store.tables import rows_naming, run_sql, session_of_messages

pytestmark = pytest.mark.both

T = TypeVar("T")

LONG = TextPart("owl" + "." * 300_000)
"""Two of them fill a part."""

Said = list[tuple[str, tuple[Part, ...]]]


async def say(ada: Driver, run: Run, message: Draft) -> None:
    await ada.turns.append(run.session, run.token, run.turn, Step(messages=(message,)))


@pytest.fixture
async def source(ada: Driver, session: SessionId) -> Run:
    """A turn over several parts whose calls have results, and one under way whose call has none."""
    run = await ada.run(session)
    for _ in range(4):
        call = (await ada.call_tool(run)).call
        result = ToolResultPart(call, (LONG,))
        await ada.turns.set_tool_call(session, run.token, run.turn, call, "running")
        await ada.turns.set_tool_call(session, run.token, run.turn, call, "done", (LONG,))
        await say(ada, run, Draft(new_message_id(), "tool", (result,)))
    await ada.end(run, "All listed.")
    run = await ada.run(session)
    await say(ada, run, Draft(new_message_id(), "assistant", (LONG,)))
    await ada.call_tool(run)
    return run


class Halting:
    """An engine that stops before its second write, until it is told to go on."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writes = 0
        self.halted, self.go_on = asyncio.Event(), asyncio.Event()

    @property
    def figures(self) -> CommitFigures:
        return self._engine.figures

    async def write(self, operation: Callable[[], Operation[T]], *, vital: bool = False) -> T:
        self._writes += 1
        if self._writes == 2:
            self.halted.set()
            await self.go_on.wait()
        return await self._engine.write(operation, vital=vital)

    async def read(self, operation: Callable[[], Operation[T]]) -> T:
        return await self._engine.read(operation)


@asynccontextmanager
async def under_way(
    ada: Driver, source: SessionId, new: NewSession
) -> AsyncGenerator[asyncio.Task[Session]]:
    """A branch of which the first part is there, until the end of the block."""
    engine = Halting(ada.branches.engine)
    branches = Branches(engine, ada.user.id)
    task = asyncio.create_task(branches.branch(source, new))
    async with asyncio.timeout(60):
        await engine.halted.wait()
    yield task
    engine.go_on.set()


def told(messages: Sequence[Message]) -> Said:
    return [(message.role, message.parts) for message in messages]


async def is_copied(ada: Driver, branch: Session, said: Said) -> None:
    """All that was said, the open call answered, and the turns and calls that go with it."""
    messages = await ada.live(branch.id)
    assert told(messages[:-1]) == said
    assert [message.position for message in messages] == list(range(1, len(said) + 2))
    assert branch.counters.messages == branch.head == len(messages)
    first, second = await ada.turns.of(branch.id)
    assert (first.state, second.state) == ("completed", "interrupted")
    assert second.ended_at is None
    assert (first.message, second.message) == (messages[0].id, messages[10].id)
    assert [message.turn for message in messages] == [first.id] * 10 + [second.id] * 4
    calls = [*await ada.turns.tool_calls(first.id), *await ada.turns.tool_calls(second.id)]
    assert [call.state for call in calls] == ["done"] * 4 + ["cancelled"]
    (last,) = messages[-1].parts
    assert isinstance(last, ToolResultPart)
    assert (last.call, last.error) == (calls[-1].call, True)


async def test_branch_is_of_what_was_there_when_it_was_asked_for(ada: Driver, source: Run) -> None:
    """Whatever is said, taken back or brought back there meanwhile; and nobody sees it before."""
    said = told(await ada.live(source.session))
    async with under_way(ada, source.session, new_session()) as branching:
        (call,) = await ada.turns.tool_calls(source.turn)
        move = partial(ada.turns.set_tool_call, source.session, source.token, source.turn)
        await move(call.call, "running")
        await move(call.call, "done", (LONG,))
        await ada.end(source, "That was not there yet.")
        lease = await ada.claim(source.session)
        await ada.history.undo(source.session, lease.token, source.turn)
        await ada.history.restore(source.session, lease.token)
        await ada.history.clear(source.session, lease.token)
        assert [session.id for session in await ada.sessions.page()] == [source.session]
    await is_copied(ada, await branching, said)


@pytest.mark.parametrize("place", ["before", "after"])
async def test_branch_that_fails_anywhere_leaves_nothing_or_all(
    ada: Driver, source: Run, folder: Path, clock: FakeClock, place: str
) -> None:
    said, failed = told(await ada.live(source.session)), 0
    for nth in range(1, 20):
        new = new_session()
        try:
            with failing(f"store.commit.{place}", nth=nth):
                await ada.branches.branch(source.session, new)
            break
        except StoreUnavailable:
            failed += 1
        if {session.id for session in await ada.sessions.page()} != {source.session}:
            await is_copied(ada, await ada.branches.branch(source.session, new), said)
            await ada.sessions.delete(new.id)
        await is_purged(ada, new.id, folder, clock)
    assert failed == 3


async def test_turn_that_goes_on_meanwhile_stands_in_the_branch_as_it_was(
    ada: Driver, source: Run
) -> None:
    """Its state, and what goes with that: not the one as it was and the other as it is by now."""
    failing = TurnEnd(state="failed", reason="The model is away.")
    await ada.turns.end(source.session, source.token, source.turn, failing)
    _, failed = await ada.turns.of(source.session)
    async with under_way(ada, source.session, new_session()) as branching:
        lease = await ada.claim(source.session)
        await ada.resume(Run(source.session, source.turn, lease))
    _, copied = await ada.turns.of((await branching).id)
    assert copied.started_at is not None
    assert copied.ended_at is not None
    same = msgspec.structs.replace(
        failed, id=copied.id, session=copied.session, message=copied.message
    )
    assert copied == same


async def is_purged(ada: Driver, session: SessionId, folder: Path, clock: FakeClock) -> None:
    clock.advance(61)

    async def is_gone() -> bool:
        await ada.settings.put("nudge", "1")
        return await ada.store.work.owner(session) is None

    await eventually(is_gone)
    assert await rows_naming(folder, session) == {}


async def test_branch_of_what_is_deleted_meanwhile_is_none(
    ada: Driver, source: Run, folder: Path, clock: FakeClock
) -> None:
    new = new_session()
    async with under_way(ada, source.session, new) as branching:
        await ada.sessions.delete(source.session)
    with pytest.raises(NotFound):
        await branching
    assert await ada.sessions.page() == []
    await is_purged(ada, new.id, folder, clock)


async def test_branch_that_stood_still_until_some_of_it_was_purged_is_refused(
    ada: Driver, source: Run, folder: Path
) -> None:
    new = new_session()
    async with under_way(ada, source.session, new) as branching:
        column, value = session_of_messages(folder, new.id)
        taken = f"SELECT min(seq) FROM messages WHERE {column} = {value}"
        await run_sql(folder, f"DELETE FROM messages WHERE seq = ({taken})")
    with pytest.raises(Conflict, match="Branch it again"):
        await branching
    assert [session.id for session in await ada.sessions.page()] == [source.session]


async def test_branch_that_stood_still_until_all_of_it_was_purged_is_refused(
    ada: Driver, source: Run, folder: Path, clock: FakeClock
) -> None:
    new = new_session()
    async with under_way(ada, source.session, new) as branching:
        await is_purged(ada, new.id, folder, clock)
    with pytest.raises(Conflict, match="Branch it again"):
        await branching
    assert await rows_naming(folder, new.id) == {}


async def test_id_under_which_a_branch_is_being_made_is_taken(ada: Driver, source: Run) -> None:
    said, new = told(await ada.live(source.session)), new_session()
    async with under_way(ada, source.session, new) as branching:
        for taking in (ada.sessions.create(new), ada.branches.branch(source.session, new)):
            with pytest.raises(InvalidInput, match="taken"):
                await taking
    await is_copied(ada, await branching, said)
