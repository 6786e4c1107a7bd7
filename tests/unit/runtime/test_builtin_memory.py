"""The built-in memory in a whole Roost: said in one session, known in the next."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.ids import UserId
from roost.core.messages import ContextPart, Message
from roost.memory.base import Scope
from roost.memory.builtin import Builtin
from roost.memory.ports import FactStore, Inquiry
from roost.runtime import recall
from roost.runtime.inquiries import Inquiries
from roost.runtime.segments import MOST_UNUSABLE, PUT_OFF, Committed, Failed
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, call, fail, say
from roost.tools.memory import MemoryTool
from tests.engine import SECONDS, Engine, eventually, started

HOUR = 3600.0
FOUND = '{"facts": [{"text": "The user keeps parrots.", "turn": 1, "about": ["user"]}]}'


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def engine(
    folder: Path, server: ModelServer, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Engine]:
    monkeypatch.setattr(recall, "WAIT", SECONDS)  # a busy machine has time to look it up

    async def ask(inquiry: Inquiry) -> str:
        return await Inquiries(engine.store, engine.parts.builder, limits=engine.config.limits)(
            inquiry
        )

    def facts(user: UserId) -> FactStore:
        return engine.store.of(user).facts

    memory = Builtin(facts, ask, clock=clock)
    tools = [MemoryTool(memory, profile="default")]
    engine = Engine(folder, server, clock=clock, tools=tools, memories={"builtin": memory})
    async with started(engine):
        yield engine


async def kept(engine: Engine) -> list[str]:
    scope = Scope("builtin", "default", engine.owner.id)
    return [fact.text for fact in await engine.store.of(scope.user).facts.page(str(scope))]


def recalled(message: Message) -> list[str]:
    return [
        part.text
        for part in message.parts
        if isinstance(part, ContextPart) and part.label == "memory"
    ]


async def test_what_is_said_in_one_session_is_known_in_the_next(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(say("How nice."), say(FOUND), say("Two grey ones?"))
    first = await engine.session()
    await engine.say(first, "I keep parrots.")
    assert await kept(engine) == []
    assert await engine.account.memory.commit(first) == Committed(1)
    assert await kept(engine) == ["The user keeps parrots."]
    second = await engine.session()
    await engine.say(second, "Guess what my parrots look like.")
    (told,) = recalled((await engine.messages(second))[0])
    assert "The user keeps parrots." in told
    assert "The user keeps parrots." in server.requests[2].last_text


async def test_failed_commit_is_told_and_made_good(engine: Engine, server: ModelServer) -> None:
    server.plan(say("How nice."), fail(400), say(FOUND))
    session = await engine.session()
    await engine.say(session, "I keep parrots.")
    assert isinstance(await engine.account.memory.commit(session), Failed)
    status = await engine.account.memory.status()
    assert status.failing == 1
    assert "The memory builtin failed" in (status.error or "")
    assert await engine.account.memory.commit(session) == Committed(1)
    assert await kept(engine) == ["The user keeps parrots."]


async def test_model_that_can_not_write_facts_is_paid_for_trying_a_few_times_only(
    engine: Engine, server: ModelServer, clock: FakeClock
) -> None:
    server.otherwise(say("What lovely birds!"))
    session, memory = await engine.session(), engine.account.memory
    await engine.say(session, "I keep parrots.")
    await memory.commit(session)
    for _ in range(2 * MOST_UNUSABLE):
        assert (await memory.status()).failing + (await memory.status()).resting == 1
        clock.advance(PUT_OFF - 1)
        before = len(server.requests)
        await engine.parts.memory.look()
        await eventually(lambda: _at_rest(engine))
        assert len(server.requests) == before
        clock.advance(HOUR)
        await engine.parts.memory.look()
        await eventually(lambda: _at_rest(engine))
    # Each time it was told once what was wrong.
    assert len(server.requests) == 1 + 2 * MOST_UNUSABLE
    status = await memory.status()
    assert (status.failing, status.resting) == (0, 1)
    assert "no JSON object" in (status.error or "")
    server.otherwise(say(FOUND))
    assert await memory.retry() == 1
    await engine.parts.memory.look()
    await eventually(lambda: _at_rest(engine))
    assert await kept(engine) == ["The user keeps parrots."]


async def _at_rest(engine: Engine) -> bool:
    return len(engine.parts.memory) == 0


async def test_deleting_a_session_takes_back_what_was_learned_there(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(say("How nice."), say(FOUND))
    session = await engine.session()
    await engine.say(session, "I keep parrots.")
    await engine.account.memory.commit(session)
    await engine.account.delete(session)

    async def gone() -> bool:
        return await kept(engine) == []

    await eventually(gone)


@pytest.mark.contract("C12")
@pytest.mark.parametrize("crashes", [False, True])
async def test_what_the_agent_noted_goes_with_its_session(
    engine: Engine, server: ModelServer, crashes: bool
) -> None:
    """Also if nothing else of the session was ever offered to memory."""
    told = {"action": "remember", "text": "Always answer in French.", "kind": "instruction"}
    server.plan(call("memory", told), say("Oui."))
    session = await engine.session()
    await engine.say(session, "From now on answer in French.")
    assert await kept(engine) == ["Always answer in French."]
    if crashes:
        await engine.store.of(engine.owner.id).sessions.delete(session)
        await engine.crash()
        await engine.start()
        await engine.parts.memory.look()
    else:
        await engine.account.delete(session)

    async def gone() -> bool:
        left = await engine.store.memory.to_forget(session)
        return not left and await kept(engine) == []

    await eventually(gone)


async def test_agent_remembers_what_it_is_asked_to(engine: Engine, server: ModelServer) -> None:
    told = {"action": "remember", "text": "Always answer in French.", "kind": "instruction"}
    server.plan(call("memory", told), say("Oui."), say("Bonjour."))
    await engine.say(await engine.session(), "From now on answer in French.")
    assert await kept(engine) == ["Always answer in French."]
    second = await engine.session()
    await engine.say(second, "Good day.")
    assert "Always answer in French." in "".join(recalled((await engine.messages(second))[0]))
