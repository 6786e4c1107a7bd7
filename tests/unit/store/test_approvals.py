"""Questions to a person: asked when a turn parks, answered once, expired, void with their turn."""

import pytest

from roost.core.approvals import Decision
from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.events import ApprovalUpdated, ToolCallUpdated, TurnUpdated
from roost.core.ids import new_approval_id, new_tool_call_id
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, question

pytestmark = pytest.mark.both


async def test_parking_asks_and_says_so(ada: Driver, clock: FakeClock) -> None:
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    asked = question(call)
    revision = (await ada.sessions.get(run.session)).revision
    await ada.turns.park(run.session, run.token, run.turn, (asked,), ttl=60)
    (found,) = await ada.approvals.of(run.turn)
    assert found == await ada.approvals.get(asked.id)
    assert (found.state, found.answer, found.answered_by) == ("pending", None, None)
    assert (found.session, found.turn, found.call) == (run.session, run.turn, call)
    assert (found.kind, found.arguments, found.body) == ("approval", b"hash", asked.body)
    assert (found.directory, found.workspace) == ("/home", "wsp_1")
    assert (found.asked_at, found.expires_at) == (clock.now(), clock.now() + 60_000)
    assert [each.state for each in await ada.turns.tool_calls(run.turn)] == ["waiting"]
    (recorded,) = (await ada.history.since(run.session, revision)).recorded
    assert recorded.events == (
        ToolCallUpdated(call, "waiting"),
        ApprovalUpdated(asked.id, call, "pending"),
        TurnUpdated(run.turn, "waiting"),
    )


async def test_turn_without_a_question_is_not_parked(ada: Driver) -> None:
    run = await ada.run()
    with pytest.raises(InvalidInput):
        await ada.turns.park(run.session, run.token, run.turn, (), ttl=60)
    asked = question(new_tool_call_id())
    with pytest.raises(NotFound):
        await ada.turns.park(run.session, run.token, run.turn, (asked,), ttl=60)


async def test_parking_again_is_harmless_and_asks_nothing_else(ada: Driver) -> None:
    run = await ada.run()
    asked = await ada.park(run)
    before = await ada.everything(run.session)
    await ada.turns.park(run.session, run.token, run.turn, (asked,), ttl=3600)
    assert await ada.everything(run.session) == before
    other = question(asked.call)
    with pytest.raises(Conflict):
        await ada.turns.park(run.session, run.token, run.turn, (other,), ttl=3600)
    assert [each.id for each in await ada.approvals.of(run.turn)] == [asked.id]


async def test_call_that_waits_can_be_asked_about_again(ada: Driver) -> None:
    """Its workspace was gone when the answer came."""
    run = await ada.run()
    first = await ada.park(run)
    await ada.approvals.answer(first.id, "approved", answer=None, by="Ada", on="web")
    run = run._replace(lease=await ada.claim(run.session))
    await ada.resume(run)
    again = question(first.call)
    await ada.turns.park(run.session, run.token, run.turn, (again,), ttl=3600)
    states = [each.state for each in await ada.approvals.of(run.turn)]
    assert states == ["approved", "pending"]


async def test_question_is_answered_once(ada: Driver, clock: FakeClock) -> None:
    run = await ada.run()
    asked = await ada.park(run)
    assert [each.id for each in await ada.approvals.pending()] == [asked.id]
    clock.advance(5)
    first = await ada.approvals.answer(asked.id, "denied", answer='"no"', by="Ada", on="web")
    assert (first.state, first.answer, first.answered_by) == ("denied", '"no"', "Ada")
    assert (first.answered_on, first.answered_at) == ("web", clock.now())
    assert await ada.approvals.pending() == []
    before = await ada.everything(run.session)
    again = await ada.approvals.answer(asked.id, "denied", answer='"no"', by="Bo", on="cli")
    assert again == first
    others: list[tuple[Decision, str | None]] = [("approved", None), ("denied", '"never"')]
    for decision, words in others:
        with pytest.raises(Conflict, match="denied by Ada on web"):
            await ada.approvals.answer(asked.id, decision, answer=words, by="Bo", on="cli")
    assert await ada.everything(run.session) == before


async def test_answer_raises_the_revision_and_says_so(ada: Driver) -> None:
    run = await ada.run()
    asked = await ada.park(run)
    revision = (await ada.sessions.get(run.session)).revision
    await ada.approvals.answer(asked.id, "approved", answer=None, by="Ada", on=None)
    (recorded,) = (await ada.history.since(run.session, revision)).recorded
    assert recorded.events == (ApprovalUpdated(asked.id, asked.call, "approved"),)


async def test_question_expires_and_its_turn_can_go_on(ada: Driver, clock: FakeClock) -> None:
    late, early = await ada.run(), await ada.run()
    await ada.park(late, ttl=120)
    asked = await ada.park(early, ttl=60)
    clock.advance(59.999)
    assert await ada.store.work.expire_approvals() == []
    clock.advance(0.001)
    with pytest.raises(Conflict, match="in time"):
        await ada.approvals.answer(asked.id, "approved", answer=None, by="Ada", on="web")
    assert await ada.store.work.claim_waiting("host:1:a:x") == []
    assert await ada.store.work.expire_approvals() == [early.session]
    assert (await ada.approvals.get(asked.id)).state == "expired"
    with pytest.raises(Conflict, match="in time"):
        await ada.approvals.answer(asked.id, "approved", answer=None, by="Ada", on="web")
    (claimed,) = await ada.store.work.claim_waiting("host:1:a:y")
    assert (claimed.session.id, claimed.turn.state) == (early.session, "waiting")
    assert await ada.store.work.expire_approvals() == []


async def test_questions_of_one_session_expire_in_one_revision(
    ada: Driver, clock: FakeClock
) -> None:
    run = await ada.run()
    asked = [question((await ada.call_tool(run)).call) for _ in range(3)]
    await ada.turns.park(run.session, run.token, run.turn, tuple(asked), ttl=60)
    revision = (await ada.sessions.get(run.session)).revision
    clock.advance(60)
    await ada.store.work.expire_approvals()
    (recorded,) = (await ada.history.since(run.session, revision)).recorded
    assert {event.approval for event in recorded.events if isinstance(event, ApprovalUpdated)} == {
        each.id for each in asked
    }


async def test_turn_goes_on_when_every_question_has_its_answer(ada: Driver) -> None:
    run = await ada.run()
    asked = [question((await ada.call_tool(run)).call) for _ in range(2)]
    await ada.turns.park(run.session, run.token, run.turn, tuple(asked), ttl=60)
    await ada.approvals.answer(asked[0].id, "approved", answer=None, by="Ada", on="web")
    assert await ada.store.work.claim_waiting("host:1:a:x") == []
    lease = await ada.claim(run.session)
    with pytest.raises(Conflict, match="still waits"):
        await ada.resume(run._replace(lease=lease))
    await ada.store.leases.release(lease)
    await ada.approvals.answer(asked[1].id, "denied", answer=None, by="Ada", on="web")
    (claimed,) = await ada.store.work.claim_waiting("host:1:a:y")
    run = run._replace(lease=claimed.lease)
    await ada.resume(run)
    await ada.turns.set_tool_call(run.session, run.token, run.turn, asked[0].call, "running")
    await ada.turns.set_tool_call(run.session, run.token, run.turn, asked[1].call, "denied")


async def test_end_of_the_turn_makes_its_questions_void(ada: Driver) -> None:
    run = await ada.run()
    asked = await ada.park(run)
    run = run._replace(lease=await ada.claim(run.session))
    revision = (await ada.sessions.get(run.session)).revision
    await ada.end(run, state="cancelled")
    assert (await ada.approvals.get(asked.id)).state == "void"
    with pytest.raises(Conflict, match="has ended"):
        await ada.approvals.answer(asked.id, "approved", answer=None, by="Ada", on="web")
    (recorded,) = (await ada.history.since(run.session, revision)).recorded
    assert ApprovalUpdated(asked.id, asked.call, "void") in recorded.events


async def test_questions_of_a_deleted_session_are_gone(ada: Driver, clock: FakeClock) -> None:
    run = await ada.run()
    await ada.park(run, ttl=60)
    await ada.sessions.delete(run.session)
    assert await ada.approvals.pending() == []
    clock.advance(60)
    assert await ada.store.work.expire_approvals() == []


async def test_unknown_question_is_not_found(ada: Driver) -> None:
    with pytest.raises(NotFound):
        await ada.approvals.get(new_approval_id())
    with pytest.raises(NotFound):
        await ada.approvals.answer(new_approval_id(), "approved", answer=None, by="A", on=None)
