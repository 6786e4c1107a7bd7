"""The account at a server says and does what the one in the process does."""

import asyncio

import pytest

from roost.client.account import Account as AttachedAccount
from roost.client.connection import path
from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.events import Changed, SessionEvent, Snapshot, TurnUpdated
from roost.core.ids import SessionId, TurnId, new_turn_id
from roost.core.turns import ENDED
from roost.http.views import event_view, message_view, session_view, turn_view
from roost.llm.providers import Providers
from roost.runtime.account import Account
from roost.store.search import SearchFilter
from roost.store.sessions import ListCursor, SessionFilter, SessionPatch
from roost.testing.models import ModelServer, call, say, think

DEADLINE = 60
NONE = Providers({}, {})


def ends(event: SessionEvent, turn: TurnId) -> bool:
    return isinstance(event, Changed) and any(
        isinstance(each, TurnUpdated)
        and each.turn == turn
        and (each.state in ENDED or each.state == "waiting")
        for each in event.events
    )


async def talk(
    attached: AttachedAccount, session: SessionId, text: str = "Hello"
) -> tuple[TurnId, list[SessionEvent]]:
    """What is told of a turn, from the first to the last."""
    told: list[SessionEvent] = []
    async with asyncio.timeout(DEADLINE), attached.watch(session) as events:
        turn = await attached.send(session, text)
        async for event in events:
            told.append(event)
            if ends(event, turn.id):
                break
    return turn.id, told


async def test_what_is_read_is_the_same(
    account: Account, attached: AttachedAccount, server: ModelServer
) -> None:
    server.plan(think("Hm.") + call("approval", {"text": "rm"}), say("A title"))
    session = (await attached.create(origin="cli", title="First", project="nest")).id
    await talk(attached, session)
    here, there = await account.snapshot(session), await attached.snapshot(session)
    assert event_view(here, NONE) == event_view(there, NONE)
    assert there.approvals[0].asked.subject == "rm"
    messages = await attached.messages(session)
    assert [*map(message_view, messages)] == [
        message_view(each) for each in await account.messages(session)
    ]
    assert [*map(turn_view, await attached.turns(session))] == [
        turn_view(each) for each in await account.turns(session)
    ]
    assert session_view(await attached.session(session), NONE) == session_view(
        await account.session(session), NONE
    )
    (asked,) = await attached.decisions.pending()
    answered = await attached.decisions.answer(asked.id, "denied")
    assert (answered.state, answered.answered_on) == ("denied", "cli")
    with pytest.raises(Conflict):
        await attached.decisions.answer(asked.id, "approved")
    assert list(await attached.usage(session)) == list(await account.usage(session))
    assert list(await attached.usage_by_day(days=2)) == list(await account.usage_by_day(days=2))


async def test_what_is_told_is_the_same(account: Account, attached: AttachedAccount) -> None:
    session = (await account.create(origin="web", title="First")).id
    async with account.watch(session) as events:
        turn, told = await talk(attached, session)
        assert isinstance(told[0], Snapshot)
        here = [await anext(events)]
        while not ends(here[-1], turn):
            here.append(await anext(events))
    durable = [event_view(event, NONE) for event in here if isinstance(event, Changed)]
    assert [event_view(event, NONE) for event in told if isinstance(event, Changed)] == durable
    found = await account.turn(session, turn)
    assert (found.route, found.state) == ("cli", "completed")


async def test_sessions_are_listed_found_and_changed(
    account: Account, attached: AttachedAccount
) -> None:
    made = [(await attached.create(origin="cli", title=f"Number {n}")).id for n in range(3)]
    await account.update(made[0], SessionPatch(archived=True))
    assert [each.id for each in await attached.sessions()] == made[:0:-1]
    assert [each.id for each in await attached.sessions(SessionFilter(archived=True))] == [made[0]]
    assert [each.id for each in await attached.sessions(SessionFilter(title="R 2"))] == [made[2]]
    (first,) = await attached.sessions(limit=1)
    after = ListCursor(first.active_at, first.id)
    assert [each.id for each in await attached.sessions(after=after)] == [made[1]]
    renamed = await attached.update(made[1], SessionPatch(title="Herons", pinned=True))
    assert (renamed.title, renamed.pinned) == ("Herons", True)
    await talk(attached, made[1], "Where do they sleep?")
    async with asyncio.timeout(DEADLINE):
        while not (hits := await attached.search("sleep")):
            pass  # the index follows
    assert {hit.session for hit in hits} == {made[1]}
    assert not await attached.search("sleep", SearchFilter(session=made[2]))


async def test_sessions_go_out_and_come_in(account: Account, attached: AttachedAccount) -> None:
    session = (await attached.create(origin="cli", title="Out")).id
    await talk(attached, session, "Far away")
    document = await attached.files.export(session)
    assert document == await account.files.export(session)
    assert "Far away" in await attached.files.markdown(session)
    assert not (await attached.files.load(document)).created
    with pytest.raises(InvalidInput):
        await attached.files.load(b"{")
    await attached.end(session)
    assert (await account.session(session)).ended_at is not None
    await attached.delete(session)
    with pytest.raises(NotFound, match=f"There is no session {session} here"):
        await attached.session(session)


async def test_routes_and_models_are_the_servers(
    account: Account, attached: AttachedAccount
) -> None:
    assert await attached.current("cli") is None
    opened = await attached.reset("cli", origin="cli")
    assert await account.current("cli") == opened.id
    assert opened.origin == "cli"
    other = await account.create(origin="web")
    await attached.point("cli", other.id)
    assert await attached.current("cli") == other.id
    assert await attached.answerer() == await account.answerer()
    assert (await attached.answerer("owl")).name == "nest/owl"
    chosen = await attached.choose(other.id, model="owl")
    assert chosen.config is not None
    assert (chosen.config.provider, chosen.config.model) == ("nest", "owl")
    with pytest.raises(InvalidInput, match="zebra"):
        await attached.choose(other.id, model="zebra")


async def test_message_sent_again_is_the_same_turn(
    account: Account, attached: AttachedAccount
) -> None:
    session = (await account.create(origin="cli", title="Once")).id
    id = new_turn_id()
    for _ in range(3):
        assert (await attached.send(session, "Once", id=id)).id == id
    with pytest.raises(Conflict):
        await attached.send(session, "Twice", id=id)
    assert [turn.id for turn in await account.turns(session)] == [id]


@pytest.mark.parametrize("name", ["..", ".", "", "\0"])
def test_name_of_nothing_is_not_found(name: str) -> None:
    with pytest.raises(NotFound):
        path("sessions", name)


async def test_odd_names_stay_in_their_place(attached: AttachedAccount) -> None:
    for name in ("../me", "a/b", "ses_1?x=y", "ses_1#", "%2e%2e"):
        with pytest.raises(NotFound):
            await attached.session(SessionId(name))
