"""The queue: what may enter it, and in which order it leaves."""

import pytest
from msgspec.structs import replace

from roost.core.errors import InvalidInput, KeyReused
from roost.core.events import TurnUpdated
from roost.core.ids import BlobId, SessionId, TurnId
from roost.core.messages import ImagePart
from roost.core.turns import TurnOptions
from roost.store.upkeep import DAY
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, new_turn, text

pytestmark = pytest.mark.both


async def test_turn_keeps_what_it_was_sent_with(
    ada: Driver, session: SessionId, clock: FakeClock
) -> None:
    new = replace(
        new_turn("Hello", key="k", steer=True),
        route="telegram:dm:42",
        options=TurnOptions(effort="high"),
        ephemeral=True,
    )
    turn = await ada.queue.submit(session, new)
    assert (turn.id, turn.session, turn.state) == (new.id, session, "queued")
    assert (turn.parts, turn.steer, turn.route) == (new.parts, True, "telegram:dm:42")
    assert (turn.options, turn.ephemeral) == (TurnOptions(effort="high"), True)
    assert (turn.message, turn.step, turn.attempt) == (None, 0, 0)
    assert (turn.created_at, turn.started_at, turn.ended_at) == (clock.now(), None, None)


async def test_empty_message_is_refused(ada: Driver, session: SessionId) -> None:
    before = await ada.everything(session)
    with pytest.raises(InvalidInput, match="empty"):
        await ada.queue.submit(session, replace(new_turn(), parts=()))
    assert await ada.everything(session) == before


async def test_queued_message_can_not_be_emptied_or_name_a_missing_attachment(
    ada: Driver, session: SessionId
) -> None:
    turn = await ada.submit(session)
    before = await ada.everything(session)
    for parts in ((), (ImagePart(BlobId("0" * 64), "image/png"),)):
        with pytest.raises(InvalidInput):
            await ada.queue.edit(turn, parts)
    assert await ada.everything(session) == before


async def test_repeat_of_an_edited_message_gives_the_edited_one(
    ada: Driver, session: SessionId
) -> None:
    new = new_turn("Hello", key="k")
    await ada.queue.submit(session, new)
    edited = await ada.queue.edit(new.id, text("Good day"))
    assert await ada.queue.submit(session, new) == edited


async def test_id_of_another_sessions_turn_is_refused(ada: Driver, session: SessionId) -> None:
    new = new_turn()
    await ada.queue.submit(session, new)
    other = await ada.session()
    with pytest.raises(KeyReused):
        await ada.queue.submit(other, new)
    assert await ada.queue.of(other) == []


async def test_key_is_forgotten_after_its_retention_and_the_id_is_not(
    ada: Driver, session: SessionId, clock: FakeClock
) -> None:
    first = new_turn("Hello", key="k")
    await ada.queue.submit(session, first)
    clock.advance(8 * DAY)
    assert (await ada.store.upkeep.run()).keys == 1
    second = await ada.queue.submit(session, new_turn("Hello", key="k"))
    assert second.id != first.id
    assert (await ada.queue.submit(session, first)).id == first.id


async def test_edited_messages_come_before_those_that_wait_newest_first(
    ada: Driver, session: SessionId
) -> None:
    past = [await ada.talk(session, f"Question {n}") for n in range(2)]
    waiting = [await ada.submit(session, f"Waiting {n}") for n in range(2)]
    lease = await ada.claim(session)
    edits: list[TurnId] = []
    for turn in reversed(past):
        new = new_turn("Instead")
        await ada.history.edit(session, lease.token, turn, new)
        edits.insert(0, new.id)
    assert [turn.id for turn in await ada.queue.of(session)] == [*edits, *waiting]


async def test_every_change_of_the_queue_is_an_event(ada: Driver, session: SessionId) -> None:
    turn = await ada.submit(session)
    await ada.queue.edit(turn, text("Good day"))
    await ada.queue.remove(turn)
    changes = await ada.history.since(session, 1)
    assert [record.events for record in changes.recorded] == [
        (TurnUpdated(turn, "queued"),),
        (TurnUpdated(turn, "queued"),),
        (TurnUpdated(turn, "removed"),),
    ]


async def test_queue_of_an_unknown_session_is_empty(ada: Driver) -> None:
    assert await ada.queue.of(SessionId("ses_unknown")) == []
