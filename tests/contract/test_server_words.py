"""Sessions on two servers: what happens on one is seen on the other, told or not."""

import asyncio

import pytest

from roost.core.errors import Conflict
from roost.runtime import turns
from roost.runtime.feed import Ready, SessionSeen
from roost.testing.models import ModelRequest, ModelServer, Reply, say, stall
from tests.engine import SECONDS, Engine, eventually, said, states
from tests.pairs import NEVER, Words, seen

pytestmark = pytest.mark.postgres

WORDS = "word " * 430


def answer(request: ModelRequest) -> Reply:
    return say("# Goals\nTo count words.") if request.model == "small" else say("Good day.")


@pytest.mark.contract("D5", "D11")
async def test_turn_is_watched_to_its_end_on_the_other_server(
    servers: tuple[Engine, Engine], server: ModelServer
) -> None:
    here, there = servers
    server.plan(say("One two ") + stall() + say("three."))
    session = await here.session()
    async with asyncio.timeout(SECONDS), there.account.watch(session) as events:
        await anext(events)
        await here.account.send(session, "Count")
        shown, ended = "", False
        while not ended:
            event = await anext(events)
            shown += said(event)
            if shown == "One two ":
                server.release()
            ended = "completed" in states(event)
    assert "One two three.".startswith(shown)
    assert await there.texts(session) == ["Count", "One two three."]


@pytest.mark.contract("D6")
async def test_turn_of_the_other_server_is_stopped(
    servers: tuple[Engine, Engine], server: ModelServer
) -> None:
    here, there = servers
    server.plan(say("One two ") + stall())
    session = await there.session()
    turn = await there.account.send(session, "Count")
    await seen(here.account, session, "One two")
    assert await here.account.cancel(session)
    assert (await there.ended(turn.id)).state == "cancelled"


async def test_list_of_sessions_shows_what_the_other_server_opens(
    servers: tuple[Engine, Engine],
) -> None:
    here, there = servers
    async with asyncio.timeout(SECONDS), there.account.feed() as events:
        assert await anext(events) == Ready()
        session = await here.session()
        seen = await anext(events)
    assert isinstance(seen, SessionSeen)
    assert seen.session.id == session


async def test_rewrite_begins_when_the_turn_on_the_other_server_ends(
    servers: tuple[Engine, Engine],
    server: ModelServer,
    words: Words,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "LOOK", NEVER if words == "heard" else 0.1)
    here, there = servers
    server.plan(say("One two ") + stall() + say("three."))
    session = await here.session()
    turn = await here.account.send(session, "Count")
    await seen(here.account, session, "One two")
    undoing = asyncio.create_task(there.account.history.undo(session))
    await there.account.snapshot(session)
    server.release()
    async with asyncio.timeout(SECONDS):
        assert (await undoing).id == turn.id
    assert await here.texts(session) == []


@pytest.mark.contract("B6")
async def test_compaction_that_is_asked_for_at_the_other_server_is_made_after_the_turn(
    servers: tuple[Engine, Engine], server: ModelServer
) -> None:
    here, there = servers
    server.otherwise(answer)
    session = await here.session()
    for number in range(3):
        await here.say(session, f"Question {number}: {WORDS}")
    server.plan(say("One two ") + stall() + say("three."), model="model")
    turn = await here.account.send(session, "Count")
    await seen(there.account, session, "One two")
    with pytest.raises(Conflict, match="after it"):
        await there.account.history.compact(session)
    server.release()

    async def is_compacted() -> bool:
        return (await there.account.session(session)).epoch == 1

    await eventually(is_compacted)
    assert (await here.ended(turn.id)).state == "completed"


async def test_compaction_of_a_session_that_was_deleted_is_looked_for_no_more(
    servers: tuple[Engine, Engine], server: ModelServer
) -> None:
    here, there = servers
    server.plan(say("One two ") + stall())
    session = await here.session()
    await here.account.send(session, "Count")
    await seen(there.account, session, "One two")
    with pytest.raises(Conflict, match="after it"):
        await there.account.history.compact(session)
    await here.account.delete(session)
    compactions = there.parts.compactions

    async def nothing_is_looked_for() -> bool:
        compactions.look()
        return len(compactions) == 0

    await eventually(nothing_is_looked_for)


async def test_message_is_not_kept_waiting_by_an_idle_compaction_of_the_other_server(
    servers: tuple[Engine, Engine], server: ModelServer
) -> None:
    here, there = servers
    server.otherwise(answer)
    server.plan(stall(), model="small")
    session = await there.session()
    for number in range(4):
        await there.say(session, f"Question {number}: {WORDS}")

    async def is_asked() -> bool:
        return any(request.model == "small" for request in server.requests)

    await eventually(is_asked)
    assert (await here.say(session, "Are you there?")).state == "completed"
