"""The journal of a turn: what comes once it is closed is neither shown nor written."""

import pytest

from roost.core.errors import Conflict
from roost.core.events import TextDelta
from roost.core.turns import Step
from roost.runtime.checkpoint import Checkpoints
from roost.runtime.delivery import Delivery
from roost.runtime.hub import Hub
from roost.runtime.journal import Desk, TurnJournal
from roost.runtime.rounds import Rounds
from tests.store_driver import Driver, Run, draft


async def test_what_goes_on_after_the_end_of_its_turn_has_nowhere_to_write(ada: Driver) -> None:
    session = await ada.session()
    turn = await ada.turns.get(await ada.submit(session))
    store = ada.store
    checkpoints = Checkpoints(store.work, renew=10.0)
    desk = Desk(store.of(ada.user.id), Hub(store), checkpoints, Delivery(), Rounds())
    lease = await ada.claim(session)
    journal = TurnJournal(desk, ada.user.id, lease, turn, approval_ttl=60.0)
    await journal.start(draft("Hello", "user"))
    journal.emit(TextDelta("Good"))
    call = (await ada.call_tool(Run(session, turn.id, lease))).call
    await journal.settle()
    before = await ada.everything(session)
    journal.emit(TextDelta(" night"))
    assert journal.streamed == (TextDelta("Good"),)
    for write in (
        lambda: journal.move(call, "running"),
        lambda: journal.record(Step(messages=(draft("Good night"),))),
        journal.retry,
    ):
        with pytest.raises(Conflict):
            await write()
    assert await ada.everything(session) == before
