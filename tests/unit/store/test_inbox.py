"""What channels received: kept once and in order, handled once, and no longer than that."""

from pathlib import Path

import pytest

from roost.core.inbound import Inbound, Place, Sender
from roost.core.turns import OutboxEntry
from roost.store.inbox import Handled
from roost.store.store import Store
from tests.store_driver import Driver
from tests.unit.store.tables import run_sql

pytestmark = pytest.mark.both

CHANNEL, ADDRESS = "small", "small:dm:1"


def said(id: str, words: str = "Hello") -> Inbound:
    return Inbound(id=id, message=id, sender=Sender("1", "Ada"), place=Place(ADDRESS), text=words)


async def test_what_is_delivered_again_keeps_its_place_and_its_words(store: Store) -> None:
    assert await store.inbox.put(CHANNEL, [said("b", "One"), said("a", "Two")], {"at": "1"}) == 2
    assert await store.inbox.put(CHANNEL, [said("b", "Other")], {"at": "2"}) == 0
    assert await store.inbox.cursors(CHANNEL) == {"at": "2"}
    words: list[str] = []
    while (waiting := await store.inbox.next(CHANNEL, ADDRESS)) is not None:
        words.append(waiting.inbound.text)
        await store.inbox.handled(CHANNEL, waiting.inbound.id, Handled())
    assert words == ["One", "Two"]


async def test_first_plan_stands(store: Store) -> None:
    await store.inbox.put(CHANNEL, [said("a")], {})
    for plan in ("apr_1", "apr_2"):
        await store.inbox.plan(CHANNEL, "a", plan)
    waiting = await store.inbox.next(CHANNEL, ADDRESS)
    assert waiting is not None
    assert waiting.plan == "apr_1"


async def test_what_was_handled_is_told_of_once_and_its_words_are_kept_no_longer(
    store: Store, ada: Driver, folder: Path
) -> None:
    await store.inbox.put(CHANNEL, [said("a", "Secret")], {})
    for first, id in ((True, "out_1"), (False, "out_2")):
        how = Handled(user=ada.user.id, tell=(OutboxEntry(id, ADDRESS, "{}"),))
        assert await store.inbox.handled(CHANNEL, "a", how) is first
    assert await store.outbox.counts(CHANNEL) == (1, 0)
    assert await run_sql(folder, "SELECT body FROM inbox") == [(None,)]
    assert await store.inbox.put(CHANNEL, [said("a", "Secret")], {}) == 0
