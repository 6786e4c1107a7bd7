"""A user's feed: what their list of sessions has to show, told as it happens, within bounds."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.approvals import Approval
from roost.core.clock import SystemClock
from roost.core.errors import StoreUnavailable
from roost.core.ids import ApprovalId, SessionId, new_user_id
from roost.core.sessions import Parent
from roost.core.users import User
from roost.runtime import feed
from roost.runtime.account import Account
from roost.runtime.feed import (
    MOST,
    ApprovalSeen,
    Events,
    Feeds,
    Ready,
    Refetch,
    SessionRemoved,
    SessionSeen,
)
from roost.store.approvals import Approvals
from roost.store.sessions import SessionPatch
from roost.testing.models import ModelServer, call, say
from tests.engine import ASKS, SECONDS, Engine, FunctionTool, started


async def _done(arguments: str, context: object) -> str:
    return "done"


@pytest.fixture
async def engine(folder: Path) -> AsyncGenerator[Engine]:
    async with ModelServer() as server:
        server.otherwise(say("Good day."))
        tools = (FunctionTool("careful", _done, asks=ASKS),)
        async with started(Engine(folder, server, clock=SystemClock(), tools=tools)) as engine:
            yield engine


@pytest.fixture
async def bob(engine: Engine) -> Account:
    user = User(id=new_user_id(), name="Bob", role="member")
    return engine.app.of((await engine.store.users.create(user)).id)


async def until_removed(events: Events, session: SessionId) -> list[object]:
    seen: list[object] = []
    async with asyncio.timeout(SECONDS):
        async for event in events:
            seen.append(event)
            if event == SessionRemoved(session):
                break
    return seen


async def test_sessions_are_told_from_their_opening_to_their_end(engine: Engine) -> None:
    async with engine.account.feed() as events:
        assert await anext(events) == Ready()
        session = await engine.session(title="Owls")
        first = await anext(events)
        assert isinstance(first, SessionSeen)
        assert (first.session.id, first.session.title) == (session, "Owls")
        await engine.say(session)
        await engine.account.delete(session)
        seen = await until_removed(events, session)
    states = {event.session.state for event in seen if isinstance(event, SessionSeen)}
    assert states <= {"idle", "queued", "running"}


async def test_nobody_is_told_of_sessions_of_others(engine: Engine, bob: Account) -> None:
    async with bob.feed() as events, engine.account.feed():
        theirs = await engine.session()
        await engine.account.update(theirs, SessionPatch(title="Secret"))
        mine = (await bob.create(origin="test")).id
        await bob.delete(mine)
        seen = await until_removed(events, mine)
    assert theirs not in {e.session.id for e in seen if isinstance(e, SessionSeen)}


async def test_session_opened_before_is_known_when_it_goes(engine: Engine) -> None:
    session = await engine.session()
    async with engine.account.feed() as events:
        await engine.account.delete(session)
        await until_removed(events, session)


async def test_subagents_are_not_listed(engine: Engine) -> None:
    session = await engine.session()
    async with engine.account.feed() as events:
        parent = Parent(session, "subagent")
        child = await engine.account.create(origin="test", parent=parent)
        await engine.account.delete(session)
        seen = await until_removed(events, session)
    assert child.id not in {e.session.id for e in seen if isinstance(e, SessionSeen)}


async def test_question_is_told_when_asked_and_when_settled(engine: Engine) -> None:
    engine.server.plan(call("careful", {}))
    session = await engine.session()
    states: list[str] = []
    async with engine.account.feed() as events, asyncio.timeout(SECONDS):
        await engine.account.send(session, "Go")
        async for event in events:
            if isinstance(event, ApprovalSeen):
                states.append(event.approval.state)
                if event.approval.state != "pending":
                    break
                await engine.account.cancel(session)
    assert states == ["pending", "void"]


async def test_settled_question_is_told_though_the_store_fails_meanwhile(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "RETRY", 0)
    engine.server.plan(call("careful", {}))
    session = await engine.session()
    states: list[str] = []
    get, failures = Approvals.get, [StoreUnavailable("a fault", path="roost.db")]

    async def failing(approvals: Approvals, id: ApprovalId) -> Approval:
        if failures:
            raise failures.pop()
        return await get(approvals, id)

    async with engine.account.feed() as events, asyncio.timeout(SECONDS):
        await engine.account.send(session, "Go")
        async for event in events:
            if isinstance(event, ApprovalSeen):
                states.append(event.approval.state)
                if event.approval.state != "pending":
                    break
                monkeypatch.setattr(Approvals, "get", failing)
                await engine.account.cancel(session)
    assert (states, failures) == (["pending", "void"], [])


async def test_slow_reader_is_told_to_read_anew_and_then_goes_on(engine: Engine) -> None:
    feeds = Feeds(engine.store, engine.parts.hub, tick=0)
    async with feeds.watch(engine.owner.id) as slow, feeds.watch(engine.owner.id) as quick:
        for _ in range(MOST + 1):
            await engine.session()
            async with asyncio.timeout(SECONDS):
                while not isinstance(await anext(quick), SessionSeen):
                    pass
        assert [await anext(slow), await anext(slow)] == [Ready(), Refetch()]
        session = await engine.session()
        event = await anext(slow)
        assert isinstance(event, SessionSeen)
        assert event.session.id == session


async def test_many_changes_at_once_are_told_together(engine: Engine) -> None:
    session = await engine.session()
    feeds = Feeds(engine.store, engine.parts.hub, tick=1)
    async with feeds.watch(engine.owner.id) as events:
        for number in range(50):
            await engine.account.update(session, SessionPatch(title=f"Title {number}"))
        told = 0
        async with asyncio.timeout(SECONDS):
            async for event in events:
                told += 1
                if isinstance(event, SessionSeen) and event.session.title == "Title 49":
                    break
    assert told < 25
