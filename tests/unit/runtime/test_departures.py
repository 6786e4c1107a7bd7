"""A user who may not use this Roost any more: what they have going stops now."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.errors import Conflict, NotFound
from roost.core.ids import SessionId, TurnId
from roost.core.turns import ENDED, Turn
from roost.core.users import User
from roost.runtime.account import Account
from roost.runtime.departures import Departures
from roost.runtime.identities import Identities
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, say, stall
from tests.engine import SECONDS, Engine, said, started

HALF = say("Half an answer") + stall()


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Engine]:
    async with ModelServer() as server:
        server.otherwise(say("Good day"))
        async with started(Engine(tmp_path / "data", server, clock=FakeClock())) as engine:
            yield engine


@pytest.fixture
def identities(engine: Engine) -> Identities:
    return Identities(engine.store, engine.clock, departures=Departures(engine.parts))


@pytest.fixture
async def bob(identities: Identities) -> User:
    return await identities.people.create("Bob")


async def opened(account: Account) -> SessionId:
    return (await account.create(origin="test", title="Session")).id


async def half_said(account: Account, session: SessionId) -> Turn:
    """A turn that has said something, and goes on."""
    async with asyncio.timeout(SECONDS), account.watch(session) as events:
        turn = await account.send(session, "Hello")
        seen = ""
        while "Half an answer" not in seen:
            seen += said(await anext(events))
    return turn


async def ended(account: Account, session: SessionId, turn: TurnId) -> Turn:
    async with asyncio.timeout(SECONDS), account.watch(session) as events:
        while (found := await account.turn(session, turn)).state not in ENDED:
            await anext(events)
    return found


async def test_what_runs_for_a_disabled_user_stops_at_once(
    engine: Engine, identities: Identities, bob: User
) -> None:
    his = engine.app.of(bob.id)
    session, other = await opened(his), await engine.session()
    engine.server.plan(HALF, HALF)
    turn, mine = await half_said(his, session), await half_said(engine.account, other)
    await identities.people.disable(bob.id)
    assert (await his.turn(session, turn.id)).state == "cancelled"
    assert [each.partial for each in await his.messages(session)] == [False, True]
    assert (await engine.account.turn(other, mine.id)).state == "running"


async def test_what_waits_for_a_disabled_user_begins_once_they_are_enabled(
    engine: Engine, identities: Identities, bob: User
) -> None:
    his = engine.app.of(bob.id)
    session = await opened(his)
    engine.server.plan(HALF)
    await half_said(his, session)
    waiting = await his.send(session, "And then?")
    await identities.people.disable(bob.id)
    late = await his.send(await opened(his), "One more thing")
    assert (await engine.say(await engine.session())).state == "completed"  # others' is taken up
    for turn in (waiting, late):
        assert (await his.turn(turn.session, turn.id)).state == "queued"
    await identities.people.enable(bob.id)
    engine.parts.turns.wake()
    for turn in (waiting, late):
        assert (await ended(his, turn.session, turn.id)).state == "completed"


async def test_turn_of_a_disabled_user_does_not_go_on_after_a_restart(
    engine: Engine, bob: User
) -> None:
    his = engine.app.of(bob.id)
    session = await opened(his)
    engine.server.plan(HALF)
    turn = await half_said(his, session)
    # Disabled by a Roost that knew of no turns, and crashed.
    await engine.store.users.change(bob.id, disabled=True)
    await engine.crash()
    await engine.start()
    assert (await engine.say(await engine.session())).state == "completed"
    assert (await engine.app.of(bob.id).turn(session, turn.id)).state == "interrupted"


async def test_removed_user_takes_everything_along(
    engine: Engine, identities: Identities, bob: User
) -> None:
    his = engine.app.of(bob.id)
    session = await opened(his)
    engine.server.plan(HALF)
    await half_said(his, session)
    async with his.watch(session) as events:
        await identities.people.remove(bob.id)
        async with asyncio.timeout(SECONDS):
            async for _ in events:
                pass
    assert len(engine.parts.turns) == 0
    with pytest.raises(NotFound):
        await his.session(session)
    with pytest.raises(NotFound):
        await identities.people.remove(bob.id)


async def test_owner_is_not_removed(engine: Engine, identities: Identities, bob: User) -> None:
    await identities.people.set_role(bob.id, "admin")
    with pytest.raises(Conflict, match="command line"):
        await identities.people.remove(engine.owner.id)
    assert (await identities.people.get(engine.owner.id)).disabled_at is None
