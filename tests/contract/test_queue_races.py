"""A message that waits can be changed up to the moment when its turn starts, and no less."""

from collections.abc import Sequence

import pytest

from roost.core.errors import QueueChanged
from roost.core.ids import SessionId, new_message_id
from roost.core.messages import Draft, TextPart, plain_text
from roost.core.turns import Step, Turn
from roost.runtime.journal import TurnJournal
from roost.store.leases import session_lease
from roost.store.work import Claimed
from roost.testing.models import ModelServer, call, say, stall
from tests.engine import Engine
from tests.store_driver import Driver, draft, new_turn

pytestmark = pytest.mark.both


async def _claimed(engine: Engine, session: SessionId, words: str) -> Claimed:
    """A message that was taken up and not started. The engine may look for work at any time by
    itself, so that the session is held before there is any."""
    assert await engine.store.leases.claim(session_lease(session), "a test")
    await engine.store.of(engine.owner.id).queue.submit(session, new_turn(words))
    (claimed,) = await engine.store.work.claim_waiting("a test")
    return claimed


@pytest.mark.contract("D8")
async def test_edit_between_claim_and_start_is_what_the_model_hears(engine: Engine) -> None:
    session = await engine.session()
    claimed = await _claimed(engine, session, "First thought")
    await engine.account.edit_queued(claimed.turn.id, "Second thought")
    engine.parts.turns.take(claimed)
    assert (await engine.ended(claimed.turn.id)).state == "completed"
    assert await engine.texts(session) == ["Second thought", "Good day."]


@pytest.mark.contract("D8")
async def test_removal_between_claim_and_start_leaves_the_session_free(engine: Engine) -> None:
    session = await engine.session()
    claimed = await _claimed(engine, session, "Never mind")
    await engine.account.remove_queued(claimed.turn.id)
    engine.parts.turns.take(claimed)
    assert (await engine.say(session, "This instead")).state == "completed"
    assert await engine.texts(session) == ["This instead", "Good day."]


@pytest.mark.contract("D8")
@pytest.mark.parametrize("how", ["edit", "remove"])
async def test_steer_changed_while_it_is_taken_in(
    engine: Engine, server: ModelServer, how: str
) -> None:
    """The tool's result is being written with the steer when that is changed: the journal's first
    try is refused, and the next one hears what is said by then."""
    server.plan(stall() + call("echo", {"text": "x"}), say("Done."))
    session = await engine.session()
    turn = await engine.account.send(session, "Start")
    await server.request(0)
    steer = await engine.account.send(session, "First thought", steer=True)
    read = TurnJournal.steers

    async def steers(journal: TurnJournal) -> Sequence[Turn]:
        found = await read(journal)
        if found and plain_text(found[0].parts) == "First thought":
            if how == "edit":
                await engine.account.edit_queued(steer.id, "Second thought")
            else:
                await engine.account.remove_queued(steer.id)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TurnJournal, "steers", steers)  # who reads it is slow
        server.requests[0].release()
        assert (await engine.ended(turn.id)).state == "completed"
    texts = [text for text in await engine.texts(session) if text]
    said = ["Second thought"] if how == "edit" else []
    assert texts == ["Start", *said, "Done."]


@pytest.mark.contract("D8")
async def test_store_refuses_words_that_were_changed(ada: Driver, session: SessionId) -> None:
    new = new_turn("First thought")
    await ada.queue.submit(session, new)
    lease = await ada.claim(session)
    await ada.queue.edit(new.id, (TextPart("Second thought"),))
    stale = Draft(new_message_id(), "user", new.parts)
    with pytest.raises(QueueChanged):
        await ada.turns.start(session, lease.token, new.id, stale)
    await ada.turns.start(session, lease.token, new.id, draft("Second thought", "user"))
    steer = new_turn("Faster", steer=True)
    await ada.queue.submit(session, steer)
    await ada.queue.edit(steer.id, (TextPart("Slower"),))
    step = Step(messages=(draft("Faster", "user"),), steers=(steer.id,))
    with pytest.raises(QueueChanged):
        await ada.turns.append(session, lease.token, new.id, step)
    await ada.queue.remove(steer.id)
    step = Step(messages=(draft("Slower", "user"),), steers=(steer.id,))
    with pytest.raises(QueueChanged):
        await ada.turns.append(session, lease.token, new.id, step)
    assert await ada.texts(session) == ["Second thought"]
