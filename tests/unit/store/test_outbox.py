"""What channels are still to be told."""

import pytest

from roost.core.errors import NotFound
from roost.core.ids import TurnId, new_turn_id
from roost.core.outbound import StoredPiece
from roost.core.turns import NewTurn, OutboxEntry, TurnEnd
from roost.store.store import Store
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, text

pytestmark = pytest.mark.both

DAY = 86_400.0
ROUTE = "small:dm:1"


async def stopped(ada: Driver, reason: str) -> TurnId:
    """A channel's turn that stopped short just now."""
    session = await ada.session()
    new = NewTurn(id=new_turn_id(), parts=text("Hello"), route=ROUTE)
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


async def put(store: Store, who: Driver, *ids: str) -> None:
    entries = tuple([OutboxEntry(id, ROUTE, "{}") for id in ids])
    await store.outbox.put(who.user.id, entries)


async def test_what_is_tried_again_begins_anew_behind_what_waits(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    await put(store, ada, "out_1", "out_2")
    await store.outbox.put_off("out_1", 5, "The platform is away.")
    await store.outbox.failed("out_1", "Nobody is there.")
    clock.advance(8 * DAY)
    await store.outbox.again("out_1")
    found = await store.outbox.get("out_1")
    assert (found.state, found.tries, found.wait, found.error) == ("pending", 0, 0, None)
    assert found.age == 0, "it is given up by its age"
    following = await store.outbox.next(ROUTE)
    assert following is not None
    assert following.id == "out_2"


async def test_only_what_is_ones_own_is_tried_again_or_let_go(
    store: Store, ada: Driver, bob: Driver
) -> None:
    await put(store, ada, "out_1")
    await store.outbox.failed("out_1", "Nobody is there.")
    for refused in (
        store.outbox.again("out_1", bob.user.id),
        store.outbox.drop("out_1", bob.user.id),
    ):
        with pytest.raises(NotFound):
            await refused
    assert await store.outbox.undelivered(bob.user.id, limit=10) == []
    (lost,) = await store.outbox.undelivered(ada.user.id, limit=10)
    assert (lost.id, lost.state) == ("out_1", "failed")


async def test_what_is_let_go_is_gone_with_its_pieces(store: Store, ada: Driver) -> None:
    await put(store, ada, "out_1")
    await store.outbox.split("out_1", [StoredPiece("Secret")])
    await store.outbox.failed("out_1", "Nobody is there.")
    await store.outbox.drop("out_1", ada.user.id)
    assert await store.outbox.pieces("out_1") == []
    with pytest.raises(NotFound):
        await store.outbox.get("out_1")


async def test_platforms_pace_counts_as_no_try(store: Store, ada: Driver) -> None:
    await put(store, ada, "out_1")
    await store.outbox.put_off("out_1", 5, "Too fast.", counts=False)
    assert (await store.outbox.get("out_1")).tries == 0
    await store.outbox.put_off("out_1", 5, "The platform is away.")
    found = await store.outbox.get("out_1")
    assert (found.tries, found.wait, found.error) == (1, 5000, "The platform is away.")


async def test_first_confirmation_counts(store: Store, ada: Driver) -> None:
    await put(store, ada, "out_1")
    await store.outbox.split("out_1", [StoredPiece("Good"), StoredPiece("day")])
    entry = await store.outbox.get("out_1")
    for external in ("m1", "m2"):
        await store.outbox.sent(entry, 0, external)
    assert [each.external for each in await store.outbox.pieces("out_1")] == ["m1", None]
    assert (await store.outbox.get("out_1")).state == "pending"
    await store.outbox.sent(entry, 1, "m3")
    assert (await store.outbox.get("out_1")).state == "sent"


async def test_answer_that_was_sent_leaves_nothing_for_others_to_take_the_place_of(
    store: Store, ada: Driver
) -> None:
    run = await ada.run()
    entry = OutboxEntry("out_1", ROUTE, "{}")
    await store.outbox.put(ada.user.id, (entry,), session=run.session, turn=run.turn)
    await store.outbox.split("out_1", [StoredPiece("Good day")])
    await store.outbox.show(run.turn, ROUTE, "m1")
    assert await store.outbox.shown(run.turn, ROUTE) == "m1"
    await store.outbox.sent(await store.outbox.get("out_1"), 0, "m1")
    assert await store.outbox.shown(run.turn, ROUTE) is None
