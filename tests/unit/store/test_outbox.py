"""What channels are still to be told."""

import pytest

from roost.core.ids import TurnId, new_turn_id
from roost.core.turns import NewTurn, TurnEnd
from roost.store.store import Store
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, text

pytestmark = pytest.mark.both

DAY = 86_400.0


async def stopped(ada: Driver, reason: str) -> TurnId:
    """A channel's turn that stopped short just now."""
    session = await ada.session()
    new = NewTurn(id=new_turn_id(), parts=text("Hello"), route="small:dm:1")
    run = await ada.start((await ada.queue.submit(session, new)).id, await ada.claim(session))
    end = TurnEnd(state="interrupted", reason=reason)
    await ada.turns.end(session, run.token, run.turn, end)
    return run.turn


async def test_turn_that_was_handed_over_is_unreported_once_nobody_went_on_with_it(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    crashed = await stopped(ada, "crashed: Roost stopped while it answered.")
    moved = await stopped(ada, "moved: another server goes on with it.")
    assert [each.turn for each in await store.outbox.unreported(DAY)] == [crashed]
    clock.advance(10)
    assert {each.turn for each in await store.outbox.unreported(DAY)} == {crashed, moved}
