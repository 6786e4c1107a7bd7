"""Live agents through the application: reused, coherent with what is stored, and their prompts."""

import asyncio
from datetime import timedelta
from itertools import pairwise

import msgspec
import pytest

from roost.agent.loop import Agent
from roost.core.config import ModelsConfig
from roost.core.ids import SessionId, new_message_id, new_turn_id
from roost.core.messages import Draft, TextPart
from roost.core.turns import NewTurn, TurnEnd
from roost.store.leases import session_lease
from roost.store.sessions import SessionPatch
from roost.testing.models import ModelRequest, ModelServer, call, fail, say, stall, think
from tests.engine import Engine, eventually

pytestmark = pytest.mark.both


async def live(engine: Engine, session: SessionId) -> Agent:
    """The agent in a session's slot, borrowed as a turn would."""
    found = await engine.account.session(session)
    plan = engine.parts.builder.plan(found)

    async def none() -> Agent:
        raise AssertionError("the slot is empty")

    async with engine.parts.agents.borrowed(session, plan.signature, none) as agent:
        return agent


async def write_elsewhere(engine: Engine, session: SessionId, words: str) -> None:
    """A turn that ends without this engine's agent: as another process or surface writes one."""
    mine = engine.store.of(engine.owner.id)
    lease = await engine.store.leases.claim(session_lease(session), "elsewhere:1:turn:x")
    assert lease is not None
    turn = NewTurn(id=new_turn_id(), parts=(TextPart(words),))
    await mine.queue.submit(session, turn)
    message = Draft(new_message_id(), "user", turn.parts)
    await mine.turns.start(session, lease.token, turn.id, message)
    await mine.turns.end(session, lease.token, turn.id, TurnEnd(state="cancelled"))


@pytest.mark.contract("A1")
async def test_turns_of_one_configuration_run_on_one_agent(engine: Engine) -> None:
    session = await engine.session()
    await engine.say(session, "One")
    first = await live(engine, session)
    await engine.say(session, "Two")
    assert await live(engine, session) is first
    assert engine.parts.agents.counts.builds == 1


@pytest.mark.contract("A3")
async def test_effort_and_observers_change_without_a_new_agent(
    engine: Engine, server: ModelServer
) -> None:
    session = await engine.session(model="claude/claude-sonnet-5-5")
    await engine.say(session, "One", effort="low")
    first = await live(engine, session)
    async with engine.account.watch(session):
        await engine.say(session, "Two", effort="high")
    assert await live(engine, session) is first
    one, two = [request.json for request in server.requests]
    assert one["system"] == two["system"]


def conversation(request: ModelRequest) -> tuple[bytes, bytes, list[bytes]]:
    """What a request sends: its tools, its system prompt, its messages, as they were serialised."""
    body = msgspec.json.decode(request.body, type=dict[str, msgspec.Raw])
    messages = msgspec.json.decode(body["messages"], type=list[msgspec.Raw])
    return bytes(body.get("tools", b"")), bytes(messages[0]), [bytes(raw) for raw in messages]


@pytest.mark.contract("A4")
@pytest.mark.parametrize("model", ["test/model", "claude/claude-sonnet-5-5", "responses/model"])
async def test_every_request_begins_with_the_bytes_of_the_one_before(
    engine: Engine, server: ModelServer, model: str
) -> None:
    session = await engine.session(model=model)
    engine.config = msgspec.structs.replace(
        engine.config, agents=msgspec.structs.replace(engine.config.agents, max=1)
    )
    await engine.restart()
    for number in range(30):
        if number % 7 == 3:
            await engine.restart()
        if number % 7 == 5:
            await engine.say(await engine.session(), "Elsewhere")  # evicts: there is room for one
        if number % 7 == 6:
            await write_elsewhere(engine, session, f"From elsewhere {number}")
        server.plan(think("Hm.") + say("Let me see.") + call("echo", {"text": "x"}), say("Done."))
        effort = ("low", None, "high")[number % 3]
        turn = await engine.say(session, f"Question {number}", effort=effort)
        assert turn.state == "completed", turn.reason
    mine = [r for r in server.requests if b"Question 0" in r.body]
    assert len(mine) == 60
    assert all(request.cache.complete for request in mine[1:])
    if model != "test/model":
        return  # the simulated cache has compared the bytes, cache marks apart
    sent = [conversation(request) for request in mine]
    for (tools, system, before), (tools_after, system_after, after) in pairwise(sent):
        assert (tools, system) == (tools_after, system_after)
        assert after[: len(before)] == before


@pytest.mark.contract("A4")
async def test_default_prompt_and_tools_are_small(engine: Engine, server: ModelServer) -> None:
    session = await engine.session()
    await engine.say(session)
    tools, system, _ = conversation(server.requests[0])
    assert len(tools) + len(system) < 12_000


@pytest.mark.contract("A4", "A5")
async def test_another_model_stores_another_prompt_and_another_agent(
    engine: Engine, server: ModelServer
) -> None:
    session, other = await engine.session(), await engine.session()
    await engine.say(session)
    await engine.say(other)
    kept = await live(engine, other)
    await engine.account.choose(session, model="test/other")
    assert not engine.parts.agents.is_live(session)
    await engine.say(session)
    assert server.requests[-1].model == "other"
    assert await live(engine, other) is kept
    found = await engine.account.session(session)
    prompt = await engine.store.of(engine.owner.id).sessions.prompt(session)
    assert prompt is not None
    assert prompt.signature == found.signature == (await live(engine, session)).signature


@pytest.mark.contract("A5")
@pytest.mark.parametrize("how", ["reset", "end", "clear", "delete", "model", "fallback"])
async def test_what_ends_the_reuse_of_an_agent_empties_its_slot_alone(
    engine: Engine, server: ModelServer, how: str
) -> None:
    models = ModelsConfig(default="test/model", small="test/small", fallbacks=("test/other",))
    engine.config = msgspec.structs.replace(engine.config, models=models)
    await engine.restart()
    session, other = await engine.session(), await engine.session()
    await engine.say(session)
    await engine.say(other)
    kept = await live(engine, other)
    match how:
        case "reset":
            await engine.account.point("cli", session)
            opened = await engine.account.reset("cli", origin="cli")
            assert await engine.account.current("cli") == opened.id != session
        case "end":
            await engine.account.end(session)
        case "clear":
            await engine.account.history.clear(session)
        case "delete":
            await engine.account.delete(session)
        case "model":
            await engine.account.choose(session, model="test/other")
        case _:
            server.plan(fail(404))
            await engine.say(session)
    assert not engine.parts.agents.is_live(session)
    assert await live(engine, other) is kept


@pytest.mark.contract("A7")
async def test_end_reset_delete_and_another_model_never_cut_a_turn_unseen(
    engine: Engine, server: ModelServer
) -> None:
    session = await engine.session()
    server.plan(say("Wor") + stall() + say("ds."))
    turn = await engine.account.send(session, "One")
    await engine.streamed(session, "Wor")
    agent = await live(engine, session)
    change = asyncio.create_task(engine.account.choose(session, model="test/other"))
    await asyncio.sleep(0)
    assert await live(engine, session) is agent
    server.requests[0].release()
    assert (await engine.ended(turn.id)).state == "completed"
    await change
    server.plan(say("Wor") + stall())
    turn = await engine.account.send(session, "Two")
    await engine.streamed(session, "Wor")
    await engine.account.end(session)
    assert (await engine.ended(turn.id)).state == "cancelled"


@pytest.mark.contract("A14")
async def test_own_turns_never_make_an_agent_stale(engine: Engine, server: ModelServer) -> None:
    session = await engine.session()
    for number in range(5):
        server.plan(call("echo", {}), say("Done.")) if number % 2 else None
        await engine.say(session, f"Question {number}")
    agent = await live(engine, session)
    position = agent.position
    found = await engine.account.session(session)
    assert position is not None
    assert (position.epoch, position.head) == (found.epoch, found.head)
    await engine.account.update(session, SessionPatch(title="Other", pinned=True))
    assert agent.position == position


@pytest.mark.contract("A14")
async def test_foreign_message_is_in_the_next_request_on_the_same_agent(
    engine: Engine, server: ModelServer
) -> None:
    session = await engine.session()
    await engine.say(session, "One")
    agent = await live(engine, session)
    await write_elsewhere(engine, session, "Said elsewhere")
    await engine.say(session, "Two")
    assert b"Said elsewhere" in server.requests[-1].body
    assert await live(engine, session) is agent


@pytest.mark.contract("A14")
async def test_agent_reads_the_history_again_after_a_rewrite(
    engine: Engine, server: ModelServer
) -> None:
    session = await engine.session()
    await engine.say(session, "Forget me")
    agent = await live(engine, session)
    await engine.account.history.undo(session)
    await engine.say(session, "Two")
    assert b"Forget me" not in server.requests[-1].body
    assert await live(engine, session) is agent


@pytest.mark.contract("A15")
async def test_switching_a_route_makes_neither_session_stale(
    engine: Engine, server: ModelServer
) -> None:
    one, two = await engine.session(), await engine.session()
    agents: list[Agent] = []
    for session in (one, two, one, two):
        await engine.account.point("cli", session)
        current = await engine.account.current("cli")
        assert current == session
        await engine.say(session, f"In {session}")
        agents.append(await live(engine, session))
    assert agents[0] is agents[2]
    assert agents[1] is agents[3]
    assert engine.parts.agents.counts.builds == 2
    assert two.encode() not in server.requests[2].body


@pytest.mark.contract("A15")
async def test_agent_whose_position_is_unknown_reads_again_and_is_kept(
    engine: Engine, server: ModelServer
) -> None:
    session = await engine.session()
    await engine.say(session, "One")
    agent = await live(engine, session)
    agent.position = None
    await write_elsewhere(engine, session, "Said elsewhere")
    assert (await engine.say(session, "Two")).state == "completed"
    assert await live(engine, session) is agent
    assert b"Said elsewhere" in server.requests[-1].body


@pytest.mark.contract("A9")
async def test_idle_agents_go_and_their_sessions_get_new_ones(engine: Engine) -> None:
    brief = msgspec.structs.replace(engine.config.agents, idle_ttl=timedelta(milliseconds=1))
    engine.config = msgspec.structs.replace(engine.config, agents=brief)
    await engine.restart()
    session = await engine.session()
    await engine.say(session, "One")

    async def is_swept() -> bool:
        return engine.parts.agents.sweep() == 1

    await eventually(is_swept)
    assert (await engine.say(session, "Two")).state == "completed"
    assert engine.parts.agents.counts.builds == 2
