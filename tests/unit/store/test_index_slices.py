"""The index of messages is written a slice at a time, whatever they are like."""

import pytest

from roost.core.ids import SessionId
from roost.store.operations import Operation
from roost.store.search import index_slice
from roost.store.writes import insert
from tests.store_driver import Driver, draft

pytestmark = pytest.mark.both


async def test_no_more_is_read_at_once_than_a_slice_of_the_index_takes(
    ada: Driver, session: SessionId
) -> None:
    """Long messages one after another: else each slice would read all of them to take one."""
    read: list[int] = []

    def noted() -> Operation[bool]:
        slice = index_slice()
        asked = next(slice)
        try:
            while True:
                rows = yield asked
                if asked.name == "messages_to_index":
                    read.append(sum([len(str(parts)) for *_, parts in rows]))
                asked = slice.send(rows)
        except StopIteration as stop:
            return stop.value

    def fill() -> Operation[None]:
        """In one transaction, so that nobody else indexes them."""
        for position in range(1, 9):
            yield from insert(ada.user.id, session, 2, 0, position, None, draft("owl " * 50_000))
        while (yield from noted()):
            pass

    await ada.store.work.engine.write(fill)
    assert 200_000 < max(read) < 500_000
    assert len(await ada.search("owl")) == 8
