"""Servers on one PostgreSQL, stopped one after the other: what they did goes on elsewhere."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from roost.channels.base import Channel, Options
from roost.channels.hosting import hosted
from roost.channels.registry import Registry
from roost.core.clock import SystemClock
from roost.core.config import ChannelConfig, LeaseConfig
from roost.core.events import SessionEvent
from roost.core.ids import TurnId
from roost.core.messages import Message, plain_text
from roost.runtime import recovery
from roost.runtime.turn_run import BROKE_OFF
from roost.store.cipher import load_key
from roost.store.folder import prepare
from roost.testing.models import ModelServer, say, stall
from tests import cluster
from tests.engine import SECONDS, Engine, config_for, eventually, started
from tests.small_channel import SmallChannel, SmallPlatform
from tests.store_driver import beside, databases
from tests.streaming import View

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(180)]

LONG = timedelta(hours=1)


@pytest.fixture
async def engines(
    folder: Path, tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Callable[[int], Engine]]:
    """Servers by number, not started. They take over because they are told to: what they would
    find by themselves they would find in an hour."""
    monkeypatch.setattr(recovery, "PERIOD", LONG.total_seconds())
    config = config_for(folder, server)
    config = msgspec.structs.replace(
        config, leases=LeaseConfig(ttl=LONG), channels={"small": ChannelConfig()}
    )
    made: list[Path] = []
    prepare(folder)
    load_key(folder, {})

    def engine(number: int) -> Engine:
        if number == 0:
            return Engine(folder, server, clock=SystemClock(), config=config)
        made.append(beside(folder, tmp_path / f"server-{number}"))
        return Engine(made[-1], server, clock=SystemClock(), config=config)

    yield engine
    for each in made:
        del databases[each]


async def watched(events: AsyncIterator[SessionEvent], view: View, turn: TurnId) -> View:
    """What a watcher has when the turn has come to its end: each event once, in order."""
    async with asyncio.timeout(SECONDS * 3):
        while view.states.get(turn) != "completed":
            view.take(await anext(events))
    return view


def shown(messages: Iterable[Message]) -> list[str]:
    """Without what Roost added."""
    texts = [plain_text(message.parts) for message in messages]
    return [text for text in texts if text not in ("", BROKE_OFF)]


@pytest.mark.contract("D3", "D5", "D11")
async def test_turn_goes_on_at_once_where_it_is_watched_however_often_servers_stop(
    engines: Callable[[int], Engine], server: ModelServer
) -> None:
    """Each of two servers is stopped while it runs the turn."""
    server.plan(say("One, ") + stall(), say("two, ") + stall(), say("three."))
    first, second, third = engines(0), engines(1), engines(2)
    async with started(third):
        await first.start()
        session = await first.session()
        turn = (await first.account.send(session, "Count")).id
        view = View()
        async with third.account.watch(session) as events:
            await third.streamed(session, "One, ")
            await second.start()
            third.parts.turns.resting = True  # the second is to have it
            await first.stop()
            await third.streamed(session, "two, ")
            third.parts.turns.resting = False
            await second.stop()
            await watched(events, view, turn)
        assert shown(view.messages.values()) == ["Count", "One, ", "two, ", "three."]
        assert shown(await third.messages(session)) == shown(view.messages.values())


async def test_message_that_waits_goes_to_another_server(
    engines: Callable[[int], Engine], server: ModelServer
) -> None:
    server.plan(say("One") + stall(), say(" two."), say("Three."))
    here, there = engines(0), engines(1)
    await here.start()
    async with started(there):
        session = await here.session()
        await here.account.send(session, "Count")
        await there.streamed(session, "One")
        waits = (await here.account.send(session, "And now?")).id
        await here.stop()
        assert (await there.ended(waits)).state == "completed"
        assert (await there.texts(session))[-1] == "Three."


async def test_server_that_drains_leaves_new_messages_to_others(
    engines: Callable[[int], Engine],
) -> None:
    here, there = engines(0), engines(1)
    async with started(here), started(there):
        session = await here.session()
        await here.app.drain()
        turn = await here.account.send(session, "Hello")
        assert (await here.ended(turn.id)).state == "completed"
        assert there.parts.agents.is_live(session), "it has answered there"
        assert not here.parts.agents.is_live(session)


async def test_last_server_goes_on_with_its_turns_when_it_is_back(
    engines: Callable[[int], Engine], server: ModelServer
) -> None:
    """It does not hand them over to nobody."""
    server.plan(say("One, ") + stall(), say("two."))
    only = engines(0)
    async with started(only):
        session = await only.session()
        turn = (await only.account.send(session, "Count")).id
        await only.streamed(session, "One, ")
        await only.restart()
        assert (await only.ended(turn)).state == "completed"


@asynccontextmanager
async def hosting(engine: Engine, platform: SmallPlatform) -> AsyncGenerator[None]:
    def make(name: str, options: Options) -> Channel:
        return SmallChannel(platform, name=name)

    async with started(engine), hosted(engine.app, Registry({"small": make})):
        yield


async def condition(engine: Engine) -> str:
    (known,) = await engine.parts.switchboard.all()
    return known.status.condition


async def test_channel_moves_to_another_server(engines: Callable[[int], Engine]) -> None:
    here, there, platform = engines(0), engines(1), SmallPlatform()
    async with AsyncExitStack() as stack:
        async with hosting(here, platform):
            await eventually(lambda: _is(here, "connected"))
            await stack.enter_async_context(hosting(there, platform))
            await eventually(lambda: _is(there, "elsewhere"))
        await eventually(lambda: _is(there, "connected"))


async def _is(engine: Engine, wanted: str) -> bool:
    return await condition(engine) == wanted


# With real processes.


@pytest.mark.contract("D3", "D5", "D11")
async def test_stream_goes_on_when_the_server_that_runs_it_is_stopped(
    tmp_path: Path, server: ModelServer, url: str
) -> None:
    """One watches on the other server all the time, one comes to it when its own stops."""
    server.plan(say("One, ") + stall(), say("two."))
    environ = {"ROOST_SERVER_GRACE": "1s"}
    async with cluster.running(tmp_path, server, [url, url], environ) as (here, there):
        session = (await here.account.create(origin="test", title="Session")).id
        turn = (await here.account.send(session, "Count")).id
        stays, moves = View(), View()
        async with there.account.watch(session) as events:
            async with here.account.watch(session) as at_first:
                while "One, " not in moves.text:
                    moves.take(await anext(at_first))
                assert await here.terminate() == 0
            await watched(events, stays, turn)
        async with there.account.watch(session, moves.cursor) as events:
            await watched(events, moves, turn)
        for view in (stays, moves):
            assert shown(view.messages.values()) == ["Count", "One, ", "two."]
        await here.start()
        doctor = await there.client.get("/api/doctor")
        (servers,) = [each for each in doctor["checks"] if each["name"] == "Servers"]
        detail = str(servers["detail"])
        assert detail.count(";") == 1, "both are there"
        assert all(str(each.url).rstrip("/") in detail for each in (here, there))
