"""Two servers on one PostgreSQL: what happens on one is seen on the other."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.events import Changed, Snapshot
from roost.runtime import recovery
from roost.store.postgres import signals
from roost.testing.models import ModelServer, say, stall
from tests.engine import SECONDS, Engine, eventually, said, started, states
from tests.store_driver import beside, databases

pytestmark = pytest.mark.postgres


@pytest.fixture
async def servers(
    folder: Path, tmp_path: Path, server: ModelServer
) -> AsyncGenerator[tuple[Engine, Engine]]:
    async with AsyncExitStack() as stack:
        here = await stack.enter_async_context(started(Engine(folder, server, clock=SystemClock())))
        elsewhere = beside(folder, tmp_path / "elsewhere")
        there = Engine(elsewhere, server, clock=SystemClock())
        yield here, await stack.enter_async_context(started(there))
    del databases[elsewhere]


@pytest.mark.contract("D5", "D11")
async def test_turn_is_watched_on_another_server_as_it_streams(
    servers: tuple[Engine, Engine], server: ModelServer
) -> None:
    here, there = servers
    server.plan(say("One, ") + stall() + say("two, ") + stall() + say("three."))
    session, shown = await here.session(), ""
    async with asyncio.timeout(SECONDS), there.account.watch(session) as events:
        await anext(events)
        turn = await here.account.send(session, "Count")
        for piece in ("One, ", "One, two, "):  # nothing more comes before it was seen
            while shown != piece:
                shown += said(await anext(events))
            await server.requests[0].stalled()
            server.release()
        while "completed" not in states(event := await anext(events)):
            shown += said(event)
    assert "One, two, three.".startswith(shown)
    await here.ended(turn.id)
    assert await there.texts(session) == ["Count", "One, two, three."]


@pytest.mark.contract("D5")
async def test_stream_is_followed_where_no_word_of_it_is_heard(
    servers: tuple[Engine, Engine], server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = servers
    monkeypatch.setattr(signals, "CHANNEL", "silence")
    monkeypatch.setattr(signals, "LOOK", 0.1)
    await there.restart()
    server.plan(say("One, ") + stall() + say("two, ") + stall() + say("three."))
    session, shown = await here.session(), ""
    async with asyncio.timeout(SECONDS), there.account.watch(session) as events:
        await here.account.send(session, "Count")
        for piece in ("One, ", "One, two, "):
            while shown != piece:
                shown += said(await anext(events))
            await server.requests[0].stalled()
            server.release()
        while "completed" not in states(await anext(events)):
            pass


@pytest.mark.contract("A14")
async def test_conversation_goes_on_where_it_was_left_on_any_server(
    servers: tuple[Engine, Engine], server: ModelServer
) -> None:
    here, there = servers
    session = await here.session()
    for number, engine in enumerate((here, there, there, here, there)):
        await engine.say(session, f"Message {number}")
    asked = [request for request in server.requests if request.model == "model"]
    assert len(asked) == 5
    assert all(request.cache.complete for request in asked[1:]), "each begins as the last one did"
    assert await here.texts(session) == await there.texts(session)


async def test_watcher_hears_what_another_server_writes(
    servers: tuple[Engine, Engine],
) -> None:
    here, there = servers
    session = await here.session()
    async with asyncio.timeout(SECONDS), there.account.watch(session) as events:
        assert isinstance(await anext(events), Snapshot)
        await here.say(session)
        async for event in events:
            if isinstance(event, Changed) and "completed" in states(event):
                break


@pytest.mark.contract("D6")
async def test_turn_is_stopped_from_another_server(
    servers: tuple[Engine, Engine], server: ModelServer
) -> None:
    here, there = servers
    server.plan(say("word ") + stall())
    session = await here.session()
    turn = await here.account.send(session, "Hello")
    await there.streamed(session, "word")
    assert await there.account.cancel(session)
    assert (await here.ended(turn.id)).state == "cancelled"
    question, answer = await there.texts(session)
    assert (question, answer) == ("Hello", "word ")


async def test_message_to_a_session_in_use_elsewhere_runs_after_it(
    servers: tuple[Engine, Engine], server: ModelServer
) -> None:
    here, there = servers
    server.plan(say("one ") + stall(), say("two"))
    session = await here.session()
    await here.account.send(session, "First")
    await there.streamed(session, "one")
    second = await there.account.send(session, "Second")
    assert second.state == "queued"
    server.release()
    assert (await there.ended(second.id)).state == "completed"
    assert [text.strip() for text in await here.texts(session)][2:] == ["Second", "two"]


@pytest.mark.contract("B3")
async def test_server_that_dies_is_taken_over_by_another(
    servers: tuple[Engine, Engine], server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "PERIOD", 0.1)
    here, there = servers
    await there.restart()
    server.plan(say("One two ") + stall(), say("The rest."))
    session = await here.session()
    turn = await here.account.send(session, "Hello")
    await there.streamed(session, "One two ")
    await here.crash()
    members = there.store.servers
    assert members is not None
    await eventually(lambda: members.bury(0))
    assert (await there.reached(turn.id, "completed")).attempt > 1
    question, partial, *_, rest = await there.texts(session)
    assert (question, rest) == ("Hello", "The rest.")
    assert partial == "One two ", "what was stored is kept"
