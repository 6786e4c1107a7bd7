"""Two users of one store: whatever one asks about the other's things, there is nothing there."""

from collections.abc import Awaitable, Callable
from inspect import getmembers, iscoroutinefunction, isfunction
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from roost.core.errors import InvalidInput, NotFound
from roost.core.facts import Learned, NewFact, Unmeant
from roost.core.ids import (
    ApprovalId,
    BlobId,
    FactId,
    MessageId,
    ScheduleId,
    SessionId,
    Token,
    ToolCallId,
    TurnId,
    new_fact_id,
    new_schedule_id,
    new_turn_id,
)
from roost.core.messages import FilePart
from roost.core.schedules import NewSchedule, SchedulePatch, When
from roost.core.sessions import NewSession, Parent
from roost.core.turns import Step, TurnEnd
from roost.core.usage import Usage
from roost.store.approvals import Approvals
from roost.store.blobs import Blobs
from roost.store.branches import Branches
from roost.store.facts import Facts
from roost.store.history import Histories
from roost.store.queue import Queue
from roost.store.schedules import Schedules
from roost.store.search import Search, SearchFilter
from roost.store.sessions import SessionPatch, Sessions
from roost.store.transfer import Transfer
from roost.store.turns import Turns
from roost.store.usage import Spent, Usages
from roost.store.vectors import FactVectors
from tests.store_driver import (
    CONFIG,
    PROMPT,
    Driver,
    Run,
    draft,
    new_session,
    new_turn,
    question,
    summary,
    text,
)

pytestmark = pytest.mark.both

SCOPE = "builtin/default/ada"


class Theirs(NamedTuple):
    """Everything of Ada's that Bob might name, tokens included."""

    session: SessionId
    token: Token
    past: TurnId
    running: TurnId
    queued: TurnId
    call: ToolCallId
    message: MessageId
    blob: BlobId
    parked: TurnId
    approval: ApprovalId
    fact: FactId
    schedule: ScheduleId


@pytest.fixture
async def theirs(ada: Driver, session: SessionId) -> Theirs:
    blob = await ada.blobs.put_bytes(b"secret", "text/plain")
    past = await ada.talk(session, "secret plans", "secret answer")
    await ada.sessions.point("web", session)
    await ada.sessions.point("small:dm:1", session)
    await ada.sessions.update(session, SessionPatch(project="secret"))
    lease = await ada.claim(session)
    await ada.sessions.configure(session, lease.token, CONFIG, PROMPT)
    run: Run = await ada.start(await ada.submit(session, "secret"), lease)
    call = await ada.call_tool(run)
    await ada.turns.set_tool_call(session, run.token, run.turn, call.call, "running")
    attached = FilePart(blob.id, blob.media_type, "secret.txt", blob.size)
    attachment = new_turn()
    await ada.queue.submit(session, attachment)
    await ada.queue.edit(attachment.id, (attached,))
    await ada.stream(run, "secret", attempt=2)
    helper = NewSession(id=new_session().id, origin="web", parent=Parent(session, "subagent"))
    await ada.sessions.create(helper)
    for used_in, source in ((session, past), (helper.id, "secret")):
        await ada.usage.add(used_in, source, (Usage("p", "m", input_tokens=1),))
    message = (await ada.live(session))[0].id
    parked = await ada.run()
    asked = await ada.park(parked)
    fact = NewFact(
        id=new_fact_id(), text="secret fact", entities=("Secret",), attribute="a", session=session
    )
    other = NewFact(id=new_fact_id(), text="Another", entities=("Secret",), attribute="a")
    await ada.facts.apply(SCOPE, "secret", Learned(additions=(fact, other)))
    schedule = await ada.schedules.add(replace(_schedule(), session=session))
    return Theirs(
        session,
        run.token,
        past,
        run.turn,
        attachment.id,
        call.call,
        message,
        blob.id,
        parked.turn,
        asked.id,
        fact.id,
        schedule.id,
    )


def _schedule() -> NewSchedule:
    when = When(kind="every", spec="1h", time_zone="UTC")
    return NewSchedule(id=new_schedule_id(), name="secret", when=when, text="secret")


async def _tokens(spent: Awaitable[Spent]) -> int:
    return (await spent).tokens


def _vectors(driver: Driver) -> FactVectors:
    return driver.store.of(driver.user.id).vectors


Ask = Callable[[Driver, Theirs], Awaitable[object]]

NOT_FOUND: dict[str, Ask] = {
    "Sessions.create": lambda bob, of: bob.sessions.create(
        NewSession(id=new_session().id, origin="web", parent=Parent(of.session, "subagent"))
    ),
    "Sessions.get": lambda bob, of: bob.sessions.get(of.session),
    "Sessions.subagents": lambda bob, of: bob.sessions.subagents(of.session),
    "Sessions.update": lambda bob, of: bob.sessions.update(of.session, SessionPatch(title="Mine")),
    "Sessions.update nothing": lambda bob, of: bob.sessions.update(of.session, SessionPatch()),
    "Sessions.suggest_title": lambda bob, of: bob.sessions.suggest_title(of.session, "Mine"),
    "Sessions.configure": lambda bob, of: bob.sessions.configure(
        of.session, of.token, CONFIG, PROMPT
    ),
    "Sessions.end": lambda bob, of: bob.sessions.end(of.session, of.token),
    "Sessions.reset": lambda bob, of: bob.sessions.reset(
        "web", of.session, of.token, new_session()
    ),
    "Sessions.delete": lambda bob, of: bob.sessions.delete(of.session),
    "Sessions.point": lambda bob, of: bob.sessions.point("web", of.session),
    "Queue.submit": lambda bob, of: bob.queue.submit(of.session, new_turn()),
    "Queue.edit": lambda bob, of: bob.queue.edit(of.queued, text("Mine")),
    "Queue.remove": lambda bob, of: bob.queue.remove(of.queued),
    "Turns.get": lambda bob, of: bob.turns.get(of.past),
    "Turns.start": lambda bob, of: bob.turns.start(
        of.session, of.token, of.queued, draft("Mine", "user")
    ),
    "Turns.resume": lambda bob, of: bob.turns.resume(of.session, of.token, of.running, after=2),
    "Turns.retry_step": lambda bob, of: bob.turns.retry_step(
        of.session, of.token, of.running, after=2
    ),
    "Turns.append": lambda bob, of: bob.turns.append(
        of.session, of.token, of.running, Step(messages=(draft("Mine"),))
    ),
    "Turns.set_tool_call": lambda bob, of: bob.turns.set_tool_call(
        of.session, of.token, of.running, of.call, "done"
    ),
    "Turns.set_tool_call repeated": lambda bob, of: bob.turns.set_tool_call(
        of.session, of.token, of.running, of.call, "running"
    ),
    "Turns.ask_to_stop": lambda bob, of: bob.turns.ask_to_stop(of.session, of.running),
    "Turns.park": lambda bob, of: bob.turns.park(
        of.session, of.token, of.running, (question(of.call),), ttl=60
    ),
    "Turns.end": lambda bob, of: bob.turns.end(
        of.session, of.token, of.running, TurnEnd(state="cancelled")
    ),
    "Turns.end repeated": lambda bob, of: bob.turns.end(
        of.session, of.token, of.past, TurnEnd(state="completed")
    ),
    "Approvals.get": lambda bob, of: bob.approvals.get(of.approval),
    "Approvals.answer": lambda bob, of: bob.approvals.answer(
        of.approval, "approved", answer=None, by="Bob", on="web"
    ),
    "Histories.load": lambda bob, of: bob.history.load(of.session),
    "Histories.page": lambda bob, of: bob.history.page(of.session),
    "Histories.whole_page": lambda bob, of: bob.history.whole_page(of.session),
    "Histories.around": lambda bob, of: bob.history.around(of.session, 1, reach=1),
    "Histories.snapshot": lambda bob, of: bob.history.snapshot(of.session),
    "Histories.since": lambda bob, of: bob.history.since(of.session, 0),
    "Histories.replaced": lambda bob, of: bob.history.replaced(of.session, 1),
    "Histories.pin": lambda bob, of: bob.history.pin(of.session, of.message, True),
    "Histories.note": lambda bob, of: bob.history.note(of.session, of.token, draft("x", "note")),
    "Histories.undo": lambda bob, of: bob.history.undo(of.session, of.token, of.past),
    "Histories.edit": lambda bob, of: bob.history.edit(of.session, of.token, of.past, new_turn()),
    "Histories.clear": lambda bob, of: bob.history.clear(of.session, of.token),
    "Histories.compact": lambda bob, of: bob.history.compact(
        of.session, of.token, summary(0, (of.message,))
    ),
    "Histories.restore": lambda bob, of: bob.history.restore(of.session, of.token),
    "Branches.branch": lambda bob, of: bob.branches.branch(of.session, new_session()),
    "Facts.get": lambda bob, of: bob.facts.get(SCOPE, of.fact),
    "Facts.edit": lambda bob, of: bob.facts.edit(SCOPE, of.fact, "Mine"),
    "Facts.forget": lambda bob, of: bob.facts.forget(SCOPE, of.fact),
    "Facts.feedback": lambda bob, of: bob.facts.feedback(SCOPE, of.fact, -1),
    "Facts.page_from before": lambda bob, of: bob.facts.page_from(
        SCOPE, of.session, before=of.fact
    ),
    "Facts.page before": lambda bob, of: bob.facts.page(SCOPE, before=of.fact),
    "Schedules.get": lambda bob, of: bob.schedules.get(of.schedule),
    "Schedules.add": lambda bob, of: bob.schedules.add(replace(_schedule(), session=of.session)),
    "Schedules.change": lambda bob, of: bob.schedules.change(
        of.schedule, SchedulePatch(text="Mine")
    ),
    "Schedules.remove": lambda bob, of: bob.schedules.remove(of.schedule),
    "Schedules.run": lambda bob, of: bob.schedules.run(of.schedule, new_turn_id(), None),
    "Schedules.runs": lambda bob, of: bob.schedules.runs(of.schedule),
    "Blobs.get": lambda bob, of: bob.blobs.get(of.blob),
    "Blobs.read": lambda bob, of: anext(aiter(bob.blobs.read(of.blob))),
    "Blobs.read_bytes": lambda bob, of: bob.blobs.read_bytes(of.blob),
    "Usages.of_session": lambda bob, of: bob.usage.of_session(of.session),
    "Usages.add": lambda bob, of: bob.usage.add(of.session, "mine", (Usage("p", "m"),)),
    "Transfer.markdown": lambda bob, of: bob.transfer.markdown(of.session),
    "Transfer.export": lambda bob, of: bob.transfer.export(of.session),
}

EMPTY: dict[str, Ask] = {
    "Sessions.page": lambda bob, of: bob.sessions.page(),
    "Sessions.projects": lambda bob, of: bob.sessions.projects(),
    "Sessions.prompt": lambda bob, of: bob.sessions.prompt(of.session),
    "Sessions.routes": lambda bob, of: bob.sessions.routes(limit=9),
    "Sessions.has_route": lambda bob, of: bob.sessions.has_route("web"),
    "Sessions.reset_rule": lambda bob, of: bob.sessions.reset_rule("web"),
    "Sessions.set_reset_rule": lambda bob, of: bob.sessions.set_reset_rule("web", "never"),
    "Sessions.current": lambda bob, of: bob.sessions.current("web"),
    "Sessions.channels": lambda bob, of: bob.sessions.channels(of.session),
    "Queue.of": lambda bob, of: bob.queue.of(of.session),
    "Turns.of": lambda bob, of: bob.turns.of(of.session),
    "Turns.latest": lambda bob, of: bob.turns.latest(of.session),
    "Turns.tool_calls": lambda bob, of: bob.turns.tool_calls(of.running),
    "Turns.deltas": lambda bob, of: bob.turns.deltas(of.running),
    "Approvals.pending": lambda bob, of: bob.approvals.pending(),
    "Approvals.of": lambda bob, of: bob.approvals.of(of.parked),
    "Histories.epochs": lambda bob, of: bob.history.epochs(of.session),
    "Facts.applied": lambda bob, of: bob.facts.applied(SCOPE, "secret"),
    "Facts.search": lambda bob, of: bob.facts.search(SCOPE, "secret", limit=5),
    "Facts.page_from": lambda bob, of: bob.facts.page_from(SCOPE, of.session),
    "Facts.page": lambda bob, of: bob.facts.page(SCOPE),
    "Facts.entities": lambda bob, of: bob.facts.entities(SCOPE, ["Secret"]),
    "Facts.about": lambda bob, of: bob.facts.about(SCOPE, "Secret", limit=5),
    "Facts.connecting": lambda bob, of: bob.facts.connecting(SCOPE, ["Secret"], limit=5),
    "Facts.contradictions": lambda bob, of: bob.facts.contradictions(SCOPE, limit=5),
    "Facts.withdraw": lambda bob, of: bob.facts.withdraw(SCOPE, of.session),
    "FactVectors.missing": lambda bob, of: _vectors(bob).missing(SCOPE, "m", limit=5),
    "FactVectors.page": lambda bob, of: _vectors(bob).page(SCOPE, "m", limit=5),
    "FactVectors.facts": lambda bob, of: _vectors(bob).facts(SCOPE, [1, 2]),
    "FactVectors.put": lambda bob, of: _vectors(bob).put(
        SCOPE, "m", [(Unmeant(1, "secret fact"), b"")]
    ),
    "Schedules.all": lambda bob, of: bob.schedules.all(),
    "Usages.today": lambda bob, of: _tokens(bob.usage.today()),
    "Usages.of_turn": lambda bob, of: _tokens(bob.usage.of_turn(of.past)),
    "Usages.by_turn": lambda bob, of: bob.usage.by_turn(of.past),
    "Usages.of_subagents": lambda bob, of: _tokens(bob.usage.of_subagents(of.session)),
    "Usages.by_day": lambda bob, of: bob.usage.by_day(days=2),
    "Blobs.of_session": lambda bob, of: bob.blobs.of_session(of.session),
    "Search.__call__": lambda bob, of: bob.find("secret"),
    "Search.__call__ in the session": lambda bob, of: bob.find(
        "secret", SearchFilter(session=of.session)
    ),
}

HARMLESS = {
    "Schedules.ahead",
    "Blobs.check_room",
    "Blobs.put",
    "Blobs.put_bytes",
    "Facts.apply",
    "Branches.open",
    "Transfer.load",
}
"""They name nothing that is there already; what an import does is in test_transfer.py."""


PARTS = (
    Sessions,
    Queue,
    Turns,
    Approvals,
    Histories,
    Branches,
    Search,
    Facts,
    FactVectors,
    Schedules,
    Blobs,
    Usages,
    Transfer,
)


def test_every_method_is_asked() -> None:
    methods = {
        f"{part.__name__}.{name}"
        for part in PARTS
        for name, function in getmembers(part, isfunction)
        if (not name.startswith("_") or name == "__call__")
        and (iscoroutinefunction(function) or name == "read")
    }
    asked = {" ".join(name.split(" ")[:1]) for name in (*NOT_FOUND, *EMPTY)}
    assert methods == asked | HARMLESS


@pytest.mark.parametrize("name", NOT_FOUND)
async def test_others_things_are_not_found_and_not_changed(
    ada: Driver, bob: Driver, theirs: Theirs, name: str
) -> None:
    before = await ada.everything(theirs.session)
    with pytest.raises(NotFound):
        await NOT_FOUND[name](bob, theirs)
    assert await ada.everything(theirs.session) == before
    assert await bob.sessions.page() == []


@pytest.mark.parametrize("name", EMPTY)
async def test_others_things_are_not_listed(bob: Driver, theirs: Theirs, name: str) -> None:
    assert not await EMPTY[name](bob, theirs)


OF_THE_USER = (
    "Blobs.get",
    "Blobs.read",
    "Facts.",
    "FactVectors.",
    "Schedules.",
    "Sessions.has",
    "Sessions.routes",
    "Usages.add",
    "Usages.by_",
    "Usages.of_subagents",
    "Usages.of_turn",
    "Usages.today",
)
"""What is the user's, not the session's. What a deleted session used was used."""


@pytest.mark.parametrize("name", [name for name in EMPTY if name.startswith("Usages.")])
async def test_own_use_is_found(ada: Driver, theirs: Theirs, name: str) -> None:
    """There is something that others do not see."""
    assert await EMPTY[name](ada, theirs)


@pytest.mark.parametrize(
    "name", [name for name in (*NOT_FOUND, *EMPTY) if not name.startswith(OF_THE_USER)]
)
async def test_own_deleted_things_are_as_far_away_as_anothers(
    ada: Driver, theirs: Theirs, name: str
) -> None:
    for session in await ada.sessions.page():
        await ada.sessions.delete(session.id)
    if name in EMPTY:
        assert not await EMPTY[name](ada, theirs)
    else:
        with pytest.raises(NotFound):
            await NOT_FOUND[name](ada, theirs)


async def test_key_of_anothers_turn_can_not_be_probed(bob: Driver, ada: Driver) -> None:
    session = await ada.session()
    await ada.queue.submit(session, new_turn("Hello", key="k"))
    for words in ("Hello", "Goodbye"):
        with pytest.raises(NotFound):
            await bob.queue.submit(session, new_turn(words, key="k"))
        with pytest.raises(NotFound):
            await bob.history.edit(session, Token(0), TurnId("trn_x"), new_turn(words, key="k"))


async def test_anothers_attachment_can_not_be_sent(bob: Driver, theirs: Theirs) -> None:
    session = await bob.session()
    stolen = new_turn()
    with pytest.raises(InvalidInput):
        await bob.queue.submit(
            session, type(stolen)(id=stolen.id, parts=(FilePart(theirs.blob, "x", "x", 6),))
        )
    assert await bob.queue.of(session) == []


async def test_anothers_turn_and_message_ids_are_of_no_use_in_an_own_session(
    bob: Driver, theirs: Theirs
) -> None:
    run = await bob.run()
    theirs_in_mine = run._replace(turn=theirs.running)
    with pytest.raises(NotFound):
        await bob.say(theirs_in_mine, "Mine")
    with pytest.raises(NotFound):
        await bob.branches.branch(run.session, new_session(), at=theirs.message)
    assert await bob.texts(run.session) == ["Hello"]


async def test_anothers_facts_can_not_be_superseded_confirmed_or_named(
    ada: Driver, bob: Driver, theirs: Theirs
) -> None:
    before = await ada.facts.page(SCOPE)
    mine = NewFact(id=new_fact_id(), text="Mine", entities=("Secret",), supersedes=(theirs.fact,))
    stolen = NewFact(id=new_fact_id(), text="Theirs", session=theirs.session)
    learned = Learned(additions=(mine, stolen), confirmed=(theirs.fact,))
    assert await bob.facts.apply(SCOPE, "secret", learned)
    assert await ada.facts.page(SCOPE) == before
    assert [fact.id for fact in await bob.facts.page(SCOPE)] == [mine.id]
    assert [fact.id for fact in await bob.facts.about(SCOPE, "Secret", limit=5)] == [mine.id]
    with pytest.raises(InvalidInput, match="taken"):
        await bob.facts.apply(
            SCOPE, "other", Learned(additions=(NewFact(id=theirs.fact, text="Mine"),))
        )


async def test_settings_and_secrets_are_each_users_own(ada: Driver, bob: Driver) -> None:
    await ada.settings.put("theme", '"dark"')
    await ada.secrets.put("key", "sk-ada")
    assert await bob.settings.get("theme") is None
    before, none = await ada.secrets.stamp(), await bob.secrets.stamp()
    assert await bob.settings.replace("theme", None, '"light"')
    assert await ada.settings.get("theme") == '"dark"'
    assert await bob.secrets.get("key") is None
    assert await bob.secrets.names() == []
    await bob.secrets.put("key", "sk-bob")
    await bob.secrets.remove("key")
    assert (await ada.secrets.stamp(), await bob.secrets.stamp()) == (before, none)
    assert await ada.secrets.get("key") == "sk-ada"
    assert await ada.store.secrets.get("key") is None
