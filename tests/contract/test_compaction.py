"""Compaction: the same id, one further epoch in one transaction, and a way back."""

import asyncio
from pathlib import Path

import apsw
import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import pytest

from roost.core.compaction import Compaction, Replacement
from roost.core.errors import EpochPassed, InvalidInput, RoostError, StoreUnavailable
from roost.core.ids import SessionId, new_message_id
from roost.core.messages import Draft, TextPart, ToolResultPart
from roost.core.turns import Step
from roost.testing.faults import failing
from tests.store_driver import Driver, draft, summary
from tests.unit.store.tables import run_sql

pytestmark = [pytest.mark.both, pytest.mark.contract("B5")]


@pytest.fixture
async def told(ada: Driver, session: SessionId) -> SessionId:
    """A session with something to compact."""
    await ada.talk(session, "Where do owls sleep?", "In hollow trees.")
    await ada.talk(session, "And by day?", "Then above all.")
    return session


async def test_summary_takes_the_place_of_what_it_replaces(ada: Driver, told: SessionId) -> None:
    before = await ada.history.load(told)
    lease = await ada.claim(told)
    replaced = tuple(message.id for message in before.messages[1:3])
    written = await ada.history.compact(told, lease.token, summary(0, replaced))

    after = await ada.history.load(told)
    assert after.session.id == told
    assert (written.epoch, after.session.epoch) == (1, 1)
    assert after.session.counters.messages == 3
    assert await ada.texts(told) == ["Where do owls sleep?", "In short: words.", "Then above all."]
    assert [message.born for message in after.messages] == [0, 1, 0]
    (epoch,) = await ada.history.epochs(told)
    assert (epoch.epoch, epoch.kind, epoch.revision) == (1, "compaction", written.revision)


async def test_replaced_messages_stay_readable_searchable_and_exportable(
    ada: Driver, told: SessionId
) -> None:
    before = await ada.live(told)
    await ada.compact(told)
    assert [m.id for m in (await ada.history.replaced(told, 1)).messages] == [m.id for m in before]
    assert await ada.found("hollow") == [before[1].id]
    assert b"In hollow trees." in await ada.transfer.export(told)


async def test_pruned_tool_result_keeps_its_place(ada: Driver) -> None:
    run = await ada.run()
    call = await ada.call_tool(run)
    long, short = (
        Draft(new_message_id(), "tool", (ToolResultPart(call.call, (TextPart(words),)),))
        for words in ("x" * 10_000, "(cut)")
    )
    await ada.turns.append(run.session, run.token, run.turn, Step(messages=(long,)))
    pruned = Compaction(
        epoch=0, replaced=(long.id,), replacements=(Replacement(long.id, short),), trigger="test"
    )
    await ada.history.compact(run.session, run.token, pruned)
    assert [message.id for message in await ada.live(run.session)][2:] == [short.id]


async def test_turn_goes_on_after_compacting_between_its_steps(ada: Driver) -> None:
    run = await ada.run()
    said = await ada.say(run, "A first step")
    await ada.history.compact(run.session, run.token, summary(0, (said,)))
    await ada.end(run, "The last step")
    assert await ada.texts(run.session) == ["Hello", "In short: words.", "The last step"]


async def test_one_of_many_compactions_of_an_epoch_wins(ada: Driver, told: SessionId) -> None:
    lease = await ada.claim(told)
    ids = tuple(message.id for message in await ada.live(told))

    async def attempt(number: int) -> int:
        try:
            await ada.history.compact(told, lease.token, summary(0, ids, f"Summary {number}"))
        except EpochPassed:
            return 0
        return 1

    assert sum(await asyncio.gather(*[attempt(number) for number in range(8)])) == 1
    session = await ada.sessions.get(told)
    assert (session.epoch, session.counters.messages) == (1, 1)


async def test_loser_changes_nothing(ada: Driver, told: SessionId) -> None:
    ids = tuple(message.id for message in await ada.live(told))
    await ada.compact(told)
    lease = await ada.claim(told)
    before = await ada.everything(told)
    with pytest.raises(EpochPassed):
        await ada.history.compact(told, lease.token, summary(0, ids, "Too late"))
    assert await ada.everything(told) == before


async def test_database_refuses_a_second_rewrite_of_an_epoch(
    ada: Driver, told: SessionId, folder: Path
) -> None:
    await ada.compact(told)
    with pytest.raises((apsw.ConstraintError, asyncpg.UniqueViolationError)):
        await run_sql(
            folder,
            "INSERT INTO epochs (session_id, epoch, kind, revision, created_at) "
            f"VALUES ('{told}', 1, 'compaction', 99, 0)",
        )


async def test_refused_compaction_leaves_the_history_as_it_was(
    ada: Driver, told: SessionId
) -> None:
    ids = tuple(message.id for message in await ada.live(told))
    lease = await ada.claim(told)
    before = await ada.everything(told)
    note = draft("Note", "note")
    for wrong in (
        summary(0, (*ids, new_message_id())),
        Compaction(
            epoch=0,
            replaced=ids[1:],
            replacements=(Replacement(ids[0], note),),
            trigger="test",
        ),
        Compaction(
            epoch=0,
            replaced=ids,
            replacements=(Replacement(ids[0], note), Replacement(ids[0], draft("Two", "note"))),
            trigger="test",
        ),
    ):
        with pytest.raises(InvalidInput):
            await ada.history.compact(told, lease.token, wrong)
    assert await ada.everything(told) == before


async def test_failing_commit_leaves_the_history_as_it_was(ada: Driver, told: SessionId) -> None:
    ids = tuple(message.id for message in await ada.live(told))
    lease = await ada.claim(told)
    before = await ada.everything(told)
    with failing("store.commit.before"), pytest.raises(StoreUnavailable):
        await ada.history.compact(told, lease.token, summary(0, ids))
    assert await ada.everything(told) == before


async def test_undoing_the_latest_opens_a_further_epoch_with_the_messages_back(
    ada: Driver, told: SessionId
) -> None:
    before = await ada.live(told)
    await ada.compact(told)
    later = await ada.talk(told, "And owlets?", "They too.")
    lease = await ada.claim(told)
    written = await ada.history.restore(told, lease.token)
    assert written.epoch == 2
    live = await ada.live(told)
    assert live[:4] == before
    assert [message.turn for message in live[4:]] == [later, later]
    (note,) = (await ada.history.replaced(told, 2)).messages
    assert note.role == "note"
    with pytest.raises(RoostError):
        await ada.history.restore(told, lease.token)
    assert (await ada.sessions.get(told)).epoch == 2
    assert await ada.found("short") == []
    assert await ada.found("hollow") == [before[1].id]
