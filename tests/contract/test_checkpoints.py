"""Checkpoints: one commit for all that streams, and none after a turn has ended."""

import pytest

from roost.core.errors import StoreUnavailable
from roost.core.events import Delta, Deltas, ReasoningDelta, TextDelta, ToolCallDelta
from roost.core.ids import new_tool_call_id
from roost.core.turns import EndState
from roost.store.work import Checkpoint
from roost.testing.clock import FakeClock
from roost.testing.faults import failing
from tests.store_driver import Driver, Run, deltas

pytestmark = pytest.mark.both


def checkpoints(runs: list[Run]) -> list[Checkpoint]:
    return [Checkpoint(run.turn, 1, run.token, deltas(f"text {n}")) for n, run in enumerate(runs)]


@pytest.mark.contract("D2")
async def test_one_commit_serves_all_streaming_turns(ada: Driver) -> None:
    runs = [await ada.run() for _ in range(20)]
    with failing("store.commit.before", nth=2):  # a second commit would fail
        tick = await ada.store.work.tick(checkpoints(runs), [run.lease for run in runs])
    assert tick.stored == {run.turn: len(f"text {n}") for n, run in enumerate(runs)}
    assert [await ada.streamed(run.turn) for run in runs] == [f"text {n}" for n in range(20)]


@pytest.mark.contract("D2")
async def test_failing_commit_stores_nothing_of_any_turn_and_can_be_repeated(ada: Driver) -> None:
    runs = [await ada.run() for _ in range(3)]
    with failing("store.commit.before"), pytest.raises(StoreUnavailable):
        await ada.store.work.tick(checkpoints(runs), [])
    assert [await ada.turns.deltas(run.turn) for run in runs] == [[], [], []]
    await ada.store.work.tick(checkpoints(runs), [])
    assert [await ada.streamed(run.turn) for run in runs] == ["text 0", "text 1", "text 2"]


@pytest.mark.contract("D2")
async def test_text_reasoning_and_tool_activity_are_kept_in_order(ada: Driver) -> None:
    run = await ada.run()
    streamed: tuple[Delta, ...] = (
        ReasoningDelta("hm"),
        TextDelta("Let me see"),
        ToolCallDelta(new_tool_call_id(), "ls", '{"pa'),
    )
    await ada.store.work.tick([Checkpoint(run.turn, 1, run.token, Deltas(1, 9, streamed))], [])
    assert await ada.turns.deltas(run.turn) == [Deltas(1, 9, streamed)]


@pytest.mark.contract("D2")
async def test_one_turn_that_may_not_write_fails_no_other(ada: Driver, clock: FakeClock) -> None:
    ended, fenced, deleted, fine = [await ada.run() for _ in range(4)]
    await ada.end(ended)
    clock.advance(30)
    await ada.claim(fenced.session, "host:2:x:y")
    await ada.sessions.delete(deleted.session)
    runs = [ended, fenced, deleted, fine]
    tick = await ada.store.work.tick(checkpoints(runs), [run.lease for run in runs])
    assert tick.stored == {fine.turn: 6}
    assert tick.lost == {ended.lease.name, fenced.lease.name, deleted.lease.name}
    assert [await ada.streamed(run.turn) for run in runs] == ["", "", "", "text 3"]


@pytest.mark.contract("D14")
@pytest.mark.parametrize("state", ["completed", "failed", "cancelled", "interrupted"])
async def test_late_checkpoint_changes_nothing(
    ada: Driver, clock: FakeClock, state: EndState
) -> None:
    run = await ada.run()
    await ada.stream(run, "abc")
    await ada.end(run, "abcdef", state=state)
    before = await ada.everything(run.session)
    clock.advance(60)
    tick = await ada.stream(run, "def", first=4)
    assert tick.stored == {}
    assert await ada.everything(run.session) == before


@pytest.mark.contract("D14")
async def test_late_checkpoint_of_a_parked_turn_changes_nothing(ada: Driver) -> None:
    run = await ada.run()
    await ada.park(run)
    before = await ada.everything(run.session)
    assert (await ada.stream(run, "abc", attempt=2)).stored == {}
    assert await ada.everything(run.session) == before


@pytest.mark.contract("D14")
async def test_late_checkpoint_of_an_earlier_attempt_changes_nothing(ada: Driver) -> None:
    run = await ada.run()
    await ada.stream(run, "abc")
    await ada.retry(run)
    assert await ada.streamed(run.turn) == ""
    for first in (1, 4):
        assert (await ada.stream(run, "def", first=first)).stored == {}
    await ada.stream(run, "xyz", attempt=2)
    assert await ada.streamed(run.turn) == "xyz"
