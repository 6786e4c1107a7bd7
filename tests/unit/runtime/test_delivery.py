"""What of a turn goes to its channel: once for each of its ends."""

from msgspec.structs import replace

from roost.core.turns import OutboxEntry, TurnEnd
from roost.runtime.delivery import interruption, with_delivery
from tests.store_driver import Driver, draft, new_turn

ROUTE = "small:dm:1"


async def test_every_end_of_a_turn_that_went_on_is_told(ada: Driver) -> None:
    session = await ada.session()
    turn = await ada.queue.submit(session, replace(new_turn(), route=ROUTE))
    failed = with_delivery(turn, TurnEnd(state="failed", reason="no-answer: It said nothing."), 1)
    again = with_delivery(turn, TurnEnd(state="completed", messages=(draft("Good day"),)), 2)
    told: list[OutboxEntry] = [*failed.outbox, *again.outbox, interruption(ROUTE, turn.id, 3, "")]
    assert len({entry.id for entry in told}) == len(told) == 3
    for entry in told:  # and each of them once, however often it is written
        await ada.store.outbox.put(ada.user.id, (entry, entry))
    assert await ada.store.outbox.counts("small") == (3, 0)
