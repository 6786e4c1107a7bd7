"""Sessions: opened once, listed by page and filter, changed by people, ended, deleted."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from roost.core.errors import Conflict, Fenced, InvalidInput, NotFound
from roost.core.events import SessionUpdated, TurnUpdated
from roost.core.ids import SessionId, Token, new_session_id
from roost.core.sessions import Counters, NewSession, Parent, ParentKind
from roost.core.usage import Usage
from roost.store.leases import session_lease
from roost.store.sessions import ListCursor, Prompt, SessionFilter, SessionPatch
from roost.store.usage import Spent
from roost.testing.clock import FakeClock
from tests.store_driver import CONFIG, HOLDER, PROMPT, Driver, new_session, new_turn
from tests.unit.store.tables import chain_below

pytestmark = pytest.mark.both


async def test_new_session_is_empty_and_idle(ada: Driver, clock: FakeClock) -> None:
    new = NewSession(id=new_session_id(), origin="cli", title="Owls", project="birds")
    session = await ada.sessions.create(new)
    assert (session.id, session.user, session.origin) == (new.id, ada.user.id, "cli")
    assert (session.title, session.title_by, session.project) == ("Owls", "person", "birds")
    assert (session.revision, session.epoch, session.head) == (1, 0, 0)
    assert (session.state, session.counters, session.unread) == ("idle", Counters(), False)
    assert session.created_at == session.active_at == clock.now()
    assert await ada.sessions.get(session.id) == session


async def test_creating_it_again_changes_nothing(ada: Driver) -> None:
    new = new_session()
    first = await ada.sessions.create(new)
    assert await ada.sessions.create(new) == first
    assert len(await ada.sessions.page()) == 1


async def test_id_of_another_user_or_of_a_deleted_session_is_taken(
    ada: Driver, bob: Driver, session: SessionId
) -> None:
    for who in (bob, ada):
        with pytest.raises(InvalidInput):
            await who.sessions.create(NewSession(id=session, origin="web"))
        if session in [each.id for each in await ada.sessions.page()]:
            await ada.sessions.delete(session)


@pytest.fixture
async def shelf(ada: Driver, clock: FakeClock) -> dict[str, SessionId]:
    """Sessions that differ in what a list can be filtered by, oldest first."""
    found: dict[str, SessionId] = {}
    for title, patch in (
        ("plain owls", SessionPatch()),
        ("Pinned OWLS", SessionPatch(pinned=True)),
        ("archived", SessionPatch(archived=True)),
        ("in a project", SessionPatch(project="birds")),
        ("Äpfel & 日本", SessionPatch()),
        ("100% _sure_", SessionPatch()),
    ):
        clock.advance(1)
        new = NewSession(id=new_session_id(), origin="web", title=title)
        found[title] = (await ada.sessions.create(new)).id
        await ada.sessions.update(found[title], patch)
    return found


@pytest.mark.parametrize(
    ("where", "titles"),
    [
        (
            SessionFilter(),
            ["100% _sure_", "Äpfel & 日本", "in a project", "Pinned OWLS", "plain owls"],
        ),
        (SessionFilter(archived=True), ["archived"]),
        (SessionFilter(pinned=True), ["Pinned OWLS"]),
        (SessionFilter(pinned=False, title="owls"), ["plain owls"]),
        (SessionFilter(project="birds"), ["in a project"]),
        (SessionFilter(project="bird"), []),
        (SessionFilter(title="owls"), ["Pinned OWLS", "plain owls"]),
        (SessionFilter(title="OWLS"), ["Pinned OWLS", "plain owls"]),
        (SessionFilter(title="Äpfel"), ["Äpfel & 日本"]),
        (SessionFilter(title="äPFEL"), ["Äpfel & 日本"]),
        (SessionFilter(title="日本"), ["Äpfel & 日本"]),
        (SessionFilter(title="%"), ["100% _sure_"]),
        (SessionFilter(title="_"), ["100% _sure_"]),
        (SessionFilter(title="no such"), []),
    ],
)
async def test_list_is_filtered(
    ada: Driver, shelf: dict[str, SessionId], where: SessionFilter, titles: list[str]
) -> None:
    assert [session.title for session in await ada.sessions.page(where)] == titles
    assert len(shelf) == 6


async def test_subagents_are_listed_only_when_asked_for(ada: Driver, session: SessionId) -> None:
    child = NewSession(id=new_session_id(), origin="subagent", parent=Parent(session, "subagent"))
    await ada.sessions.create(child)
    branch = await ada.branches.branch(session, new_session())
    shown = {each.id for each in await ada.sessions.page()}
    assert shown == {session, branch.id}
    everyone = {each.id for each in await ada.sessions.page(SessionFilter(subagents=True))}
    assert everyone == {session, branch.id, child.id}


async def test_pages_follow_one_another_among_sessions_of_the_same_moment(ada: Driver) -> None:
    made = {await ada.session() for _ in range(7)}
    pages = [await ada.sessions.page(limit=3)]
    while len(pages[-1]) == 3:
        last = pages[-1][-1]
        pages.append(await ada.sessions.page(after=ListCursor(last.active_at, last.id), limit=3))
    listed = [session.id for page in pages for session in page]
    assert listed == sorted(made, reverse=True)


@pytest.mark.parametrize("limit", [0, -1, 201])
async def test_page_has_a_size_that_makes_sense(ada: Driver, limit: int) -> None:
    with pytest.raises(InvalidInput, match="1 to 200"):
        await ada.sessions.page(limit=limit)


@pytest.mark.postgres
async def test_character_that_postgres_can_not_store_is_refused(
    ada: Driver, session: SessionId
) -> None:
    with pytest.raises(InvalidInput, match="can't be stored"):
        await ada.sessions.update(session, SessionPatch(title="An owl\0"))


async def test_patch_changes_what_it_names_and_nothing_else(
    ada: Driver, session: SessionId
) -> None:
    await ada.sessions.update(session, SessionPatch(title="Owls", project="birds", pinned=True))
    updated = await ada.sessions.update(session, SessionPatch(project=None))
    assert (updated.title, updated.project, updated.pinned) == ("Owls", None, True)
    last = (await ada.history.since(session, 2)).recorded[-1]
    assert last.events == (SessionUpdated(("project",)),)


async def test_empty_patch_is_no_write(ada: Driver, session: SessionId) -> None:
    before = await ada.everything(session)
    await ada.sessions.update(session, SessionPatch())
    assert await ada.everything(session) == before


async def test_answer_is_unread_until_seen_and_seen_never_goes_back(
    ada: Driver, session: SessionId
) -> None:
    await ada.talk(session)
    answered = await ada.sessions.get(session)
    assert answered.unread
    seen = await ada.sessions.update(session, SessionPatch(seen=answered.revision))
    assert not seen.unread
    again = await ada.sessions.update(session, SessionPatch(seen=1))
    assert again.seen == answered.revision


async def test_prompt_is_the_latest_one_configured_byte_for_byte(
    ada: Driver, session: SessionId
) -> None:
    assert await ada.sessions.prompt(session) is None
    lease = await ada.claim(session)
    exact = Prompt(PROMPT.signature, "Zeile\r\n\t\u2028 日本 \U0001f989", '[{"name": "ls"}]')
    for prompt in (PROMPT, exact):
        await ada.sessions.configure(session, lease.token, CONFIG, prompt)
    assert await ada.sessions.prompt(session) == exact
    found = await ada.sessions.get(session)
    assert (found.config, found.signature) == (CONFIG, exact.signature)


async def test_ending_twice_keeps_the_first_time(
    ada: Driver, session: SessionId, clock: FakeClock
) -> None:
    lease = await ada.claim(session)
    ended_at = clock.now()
    await ada.sessions.end(session, lease.token)
    clock.advance(10)
    await ada.sessions.end(session, lease.token)
    assert (await ada.sessions.get(session)).ended_at == ended_at


async def test_what_waits_in_a_session_that_ends_does_not_run(
    ada: Driver, session: SessionId
) -> None:
    await ada.sessions.point("cli", session)
    lease = await ada.claim(session)
    ways: list[Callable[[], Awaitable[object]]] = [
        lambda: ada.sessions.end(session, lease.token),
        lambda: ada.sessions.reset("cli", session, lease.token, new_session()),
    ]
    for end in ways:
        waiting = [await ada.submit(session) for _ in range(2)]
        revision = (await ada.sessions.get(session)).revision
        await end()
        assert [(await ada.turns.get(turn)).state for turn in waiting] == ["removed"] * 2
        (record,) = (await ada.history.since(session, revision)).recorded
        removed = [TurnUpdated(turn, "removed") for turn in waiting]
        assert record.events == (*removed, SessionUpdated(("ended_at",)))
        assert (await ada.sessions.get(session)).queued == 0
    await ada.store.leases.release(lease)
    assert await ada.store.work.claim_waiting(HOLDER) == []


async def test_session_that_was_ended_goes_on_with_an_edited_message(
    ada: Driver, session: SessionId
) -> None:
    turn, new = await ada.talk(session), new_turn("Instead")
    lease = await ada.claim(session)
    await ada.sessions.end(session, lease.token)
    await ada.history.edit(session, lease.token, turn, new)
    assert (await ada.sessions.get(session)).ended_at is None
    await ada.store.leases.release(lease)
    (claimed,) = await ada.store.work.claim_waiting(HOLDER)
    assert claimed.turn.id == new.id


async def test_deleted_session_is_gone_at_once(ada: Driver, session: SessionId) -> None:
    await ada.sessions.point("web", session)
    lease = await ada.claim(session)
    await ada.sessions.delete(session)
    assert await ada.sessions.current("web") is None
    assert await ada.store.leases.holder(session_lease(session)) is None
    for ask in (ada.sessions.get(session), ada.sessions.delete(session), ada.claim(session)):
        with pytest.raises(NotFound):
            await ask
    assert not await ada.store.leases.renew(lease)


async def test_route_points_at_one_session_of_each_user(
    ada: Driver, bob: Driver, session: SessionId
) -> None:
    assert await ada.sessions.current("web") is None
    await ada.sessions.point("web", session)
    other = await ada.session()
    await ada.sessions.point("cli", other)
    await ada.sessions.point("web", other)
    assert await ada.sessions.current("web") == other
    mine = await bob.session()
    await bob.sessions.point("web", mine)
    assert await ada.sessions.current("web") == other


async def test_deleting_a_session_takes_its_subagents_along_and_leaves_its_branches(
    ada: Driver,
) -> None:
    parent = await ada.session()
    made: list[SessionId] = []
    for above, kind in ((parent, "subagent"), (None, "subagent"), (parent, "branch")):
        new = NewSession(
            id=new_session_id(),
            origin="cli",
            parent=Parent(above or made[-1], msgspec.convert(kind, ParentKind)),
        )
        made.append((await ada.sessions.create(new)).id)
    await ada.sessions.delete(parent)
    for gone in (parent, made[0], made[1]):
        with pytest.raises(NotFound):
            await ada.sessions.get(gone)
    assert (await ada.sessions.get(made[2])).id == made[2]


async def test_however_long_a_chain_of_subagents_is_it_is_deleted(
    ada: Driver, session: SessionId, folder: Path
) -> None:
    chain = await chain_below(folder, session, 1_200)
    await ada.sessions.delete(session)
    assert await ada.sessions.page(SessionFilter(subagents=True)) == []
    for gone in (session, chain[0], chain[-1]):
        with pytest.raises(NotFound):
            await ada.sessions.get(gone)


async def test_title_costs_what_it_costs_even_if_it_is_not_taken(
    ada: Driver, session: SessionId
) -> None:
    usage = (Usage("p", "m", input_tokens=10, output_tokens=2, cost=3),)
    assert await ada.sessions.suggest_title(session, "Model's", usage)
    taken = await ada.sessions.get(session)
    assert (taken.title, taken.counters.input_tokens, taken.counters.cost) == ("Model's", 10, 3)
    assert await ada.sessions.suggest_title(session, "Model's", usage)
    assert await ada.sessions.get(session) == taken
    await ada.sessions.update(session, SessionPatch(title="Mine"))
    assert not await ada.sessions.suggest_title(session, "Model's", usage)
    found = await ada.sessions.get(session)
    assert (found.title, found.counters.cost) == ("Mine", 6)
    changes = await ada.history.since(session, found.revision - 1)
    assert changes.recorded[0].events == (SessionUpdated(("counters",)),)
    assert await ada.usage.today() == Spent(tokens=24, cost=6)


async def test_reset_ends_the_old_session_and_opens_another(
    ada: Driver, session: SessionId
) -> None:
    await ada.sessions.point("cli", session)
    await ada.talk(session)
    lease, new = await ada.claim(session), new_session("cli")
    opened = await ada.sessions.reset("cli", session, lease.token, new)
    assert (opened.id, opened.origin) == (new.id, "cli")
    assert await ada.sessions.current("cli") == new.id
    ended = await ada.sessions.get(session)
    assert ended.ended_at is not None
    assert await ada.sessions.reset("cli", session, lease.token, new) == opened
    assert await ada.sessions.get(session) == ended


async def test_route_without_a_session_is_reset_too(ada: Driver) -> None:
    new = new_session("cli")
    await ada.sessions.reset("cli", None, None, new)
    assert await ada.sessions.current("cli") == new.id


async def test_reset_that_can_not_be_done_changes_nothing(ada: Driver, session: SessionId) -> None:
    await ada.sessions.point("cli", session)
    other = await ada.session()
    run = await ada.run(session)
    token = (await ada.claim(other)).token
    before = await ada.everything(session), await ada.everything(other)
    for old, held, refusal in (
        (session, run.token, Conflict),  # its turn is under way
        (other, token, Conflict),  # the route's is another
        (None, None, Conflict),  # the route has one
        (session, None, InvalidInput),
        (session, Token(run.token - 1), Fenced),
    ):
        with pytest.raises(refusal):
            await ada.sessions.reset("cli", old, held, new_session())
    assert (await ada.everything(session), await ada.everything(other)) == before
    assert await ada.sessions.current("cli") == session
    assert len(await ada.sessions.page()) == 2
