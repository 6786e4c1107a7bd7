"""Watching over connections that break: every event once, and what is said of the server."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest

from roost.client.connection import connected
from roost.client.watching import AWAY, BACK, watching
from roost.core.errors import NotFound, ServerUnreachable
from roost.core.events import Changed, Noticed, SessionEvent, Snapshot, TurnUpdated
from roost.core.ids import SessionId, TurnId
from roost.core.turns import ENDED
from roost.http.views import changed_view
from roost.llm.providers import Providers
from roost.runtime.account import Account
from roost.testing.models import ModelServer, say
from roost.wiring import Roost
from tests.attached import serving
from tests.unit.client.cutting import Way

DEADLINE = 60


@pytest.fixture
async def session(account: Account) -> SessionId:
    return (await account.create(origin="cli", title="Watched")).id


@asynccontextmanager
async def watched(
    way: Way, session: SessionId, *, absence: float | None = None
) -> AsyncGenerator[AsyncIterator[SessionEvent]]:
    async with (
        asyncio.timeout(DEADLINE),
        connected(way.find, patience=0) as connection,
        watching(connection, session, absence=absence) as events,
    ):
        yield events


def ended(event: SessionEvent, turn: TurnId) -> bool:
    return isinstance(event, Changed) and any(
        isinstance(each, TurnUpdated) and each.turn == turn and each.state in ENDED
        for each in event.events
    )


async def all_of(events: AsyncIterator[SessionEvent], turn: TurnId) -> list[SessionEvent]:
    told: list[SessionEvent] = []
    async for event in events:
        told.append(event)
        if ended(event, turn):
            return told
    raise AssertionError("it never ended")


@pytest.mark.contract("D5")
@pytest.mark.parametrize("seed", range(4))
async def test_every_durable_event_comes_once_over_broken_connections(
    roost: Roost, account: Account, session: SessionId, server: ModelServer, seed: int
) -> None:
    server.otherwise(say("One word after the other, " * 20, pace=0.002))
    way, chance = Way(roost.config.data), random.Random(seed)  # noqa: S311
    way.cuts.extend([chance.randrange(300, 4000) for _ in range(12)])
    async with (
        serving(roost),
        way.open(),
        watched(way, session) as events,
        account.watch(session) as other,
    ):
        assert isinstance(await anext(events), Snapshot)
        turn = (await account.send(session, "Tell me.")).id
        told, seen = await asyncio.gather(all_of(events, turn), all_of(other, turn))
    assert way.broken
    assert not [event for event in told if isinstance(event, Snapshot)]
    assert _durable(told) == _durable(seen)
    assert not [event for event in told if isinstance(event, Noticed)]


def _durable(told: list[SessionEvent]) -> list[object]:
    """Where one is among the deltas depends on when one was told."""
    changes = [
        changed_view(event, Providers({}, {})) for event in told if isinstance(event, Changed)
    ]
    return [(view.cursor.revision, view.events, view.messages) for view in changes]


async def test_server_that_stops_is_told_and_waited_for(
    roost: Roost, account: Account, session: SessionId
) -> None:
    way = Way(roost.config.data)
    async with way.open(), asyncio.timeout(DEADLINE), connected(way.find) as connection:
        async with serving(roost):
            watcher = watching(connection, session)
            events = await watcher.__aenter__()
            first = await anext(events)
            assert isinstance(first, Snapshot)
        assert await anext(events) == Noticed(first.cursor, AWAY)
        turn = (await account.send(session, "While it was away")).id
        async with serving(roost):
            assert await anext(events) == Noticed(first.cursor, BACK)
            told = await all_of(events, turn)
            assert not [event for event in told if isinstance(event, Snapshot | Noticed)]
            await watcher.__aexit__(None, None, None)


async def test_server_that_stays_away_is_waited_for_as_long_as_was_said(
    roost: Roost, session: SessionId
) -> None:
    way = Way(roost.config.data)
    async with way.open(), asyncio.timeout(DEADLINE), connected(way.find) as connection:
        async with serving(roost):
            watcher = watching(connection, session, absence=0.3)
            events = await watcher.__aenter__()
            await anext(events)
        assert isinstance(await anext(events), Noticed)
        with pytest.raises(ServerUnreachable):
            await anext(events)
        await watcher.__aexit__(None, None, None)


async def test_session_that_is_deleted_ends_it(
    roost: Roost, account: Account, session: SessionId
) -> None:
    way = Way(roost.config.data)
    async with serving(roost), way.open(), watched(way, session) as events:
        await anext(events)
        await account.delete(session)
        assert [event async for event in events if not isinstance(event, Changed)] == []


async def test_session_that_was_deleted_meanwhile_ends_it_too(
    roost: Roost, account: Account, session: SessionId
) -> None:
    way = Way(roost.config.data)
    async with way.open(), asyncio.timeout(DEADLINE), connected(way.find) as connection:
        async with serving(roost):
            watcher = watching(connection, session)
            events = await watcher.__aenter__()
            await anext(events)
        await account.delete(session)
        async with serving(roost):
            rest = [event async for event in events if not isinstance(event, Changed)]
            assert [type(event) for event in rest] == [Noticed]
            await watcher.__aexit__(None, None, None)


async def test_session_that_is_not_there_is_refused_at_once(roost: Roost) -> None:
    way = Way(roost.config.data)
    async with serving(roost), way.open():
        with pytest.raises(NotFound):
            async with watched(way, SessionId("ses_nobody")):
                pass
