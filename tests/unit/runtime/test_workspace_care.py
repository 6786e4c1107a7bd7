"""What becomes of workspaces reaches their sessions, and theirs alone."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.config import WorkspacesConfig
from roost.core.ids import SessionId, UserId, new_session_id
from roost.core.messages import ContextPart, plain_text
from roost.runtime.workspace_care import MOST_ALONE
from roost.testing.models import ModelServer, say, stall
from roost.workspace.workspaces import Workspaces
from tests.engine import Engine, eventually


async def _anyone(user: UserId) -> bool:
    return True


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        server.otherwise(say("I see."))
        yield server


@pytest.fixture
async def engine(tmp_path: Path, server: ModelServer) -> AsyncGenerator[Engine]:
    engine = Engine(tmp_path / "data", server, clock=SystemClock())
    engine.workspaces = Workspaces(
        None,
        tmp_path / "data" / "workspaces",
        WorkspacesConfig(),
        clock=SystemClock(),
        is_admin=_anyone,
    )
    await engine.start()
    yield engine
    await engine.stop()


async def end_of_a_process(engine: Engine, session: SessionId) -> None:
    assert engine.workspaces is not None
    assert engine.workspaces.ended is not None
    await engine.workspaces.ended(engine.owner.id, session, "p1 ended with status 0.")


async def idle(engine: Engine, session: SessionId) -> None:
    async def done() -> bool:
        return (await engine.account.session(session)).state == "idle"

    await eventually(done)


async def test_end_of_a_process_begins_a_turn_that_is_not_the_persons(
    engine: Engine, server: ModelServer
) -> None:
    session = await engine.session()
    await end_of_a_process(engine, session)
    await idle(engine, session)
    (message, answer) = await engine.messages(session)
    assert [p for p in message.parts if isinstance(p, ContextPart) and p.label == "workspace"]
    assert plain_text(message.parts) == ""
    assert plain_text(answer.parts) == "I see."
    (turn,) = await engine.account.turns(session)
    assert turn.route == "workspace"


async def test_end_of_a_process_joins_the_turn_under_way_or_comes_after_it(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(stall() + say("Done."))
    session = await engine.session()
    turn = await engine.account.send(session, "Go")
    await (await server.request(0)).stalled()
    await end_of_a_process(engine, session)
    assert [each.route for each in await engine.account.queue(session)] == ["workspace"]
    server.requests[0].release()
    assert (await engine.ended(turn.id)).state == "completed"
    await idle(engine, session)
    assert len(await engine.account.turns(session)) == 2


async def test_agent_does_not_go_on_for_ever_without_a_person(engine: Engine) -> None:
    session = await engine.session()
    for _ in range(MOST_ALONE):
        await end_of_a_process(engine, session)
        await idle(engine, session)
    assert len(await engine.account.turns(session)) == MOST_ALONE
    await end_of_a_process(engine, session)
    assert len(await engine.account.turns(session)) == MOST_ALONE
    last = (await engine.messages(session))[-1]
    assert (last.role, plain_text(last.parts)) == ("note", "p1 ended with status 0.")
    told = asyncio.Event()  # after everyone else: a turn's end is known before they are told of it
    engine.parts.turns.observers.append(lambda claimed, end: told.set())
    await engine.say(session, "Go on.")
    await told.wait()
    await end_of_a_process(engine, session)
    await idle(engine, session)
    assert len(await engine.account.turns(session)) == MOST_ALONE + 2


async def test_session_that_is_gone_is_told_nothing(engine: Engine) -> None:
    await end_of_a_process(engine, new_session_id())
    assert engine.workspaces is not None
    assert engine.workspaces.told is not None
    await engine.workspaces.told(engine.owner.id, new_session_id(), "It ended.")


async def test_files_of_a_session_that_was_deleted_before_a_crash_are_removed(
    engine: Engine, tmp_path: Path
) -> None:
    session, other = await engine.session(), await engine.session()
    for each in (session, other):
        await engine.account.workspace(each)
    await engine.store.of(engine.owner.id).sessions.delete(session)
    await engine.stop()
    await engine.start()
    folder = tmp_path / "data" / "workspaces"

    async def only_one() -> bool:
        return [path.name for path in folder.iterdir()] == [other]

    await eventually(only_one)
