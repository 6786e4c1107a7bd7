"""Leases: one winner, let go by its holder only, shut out when stale, void after a restart."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from roost.core.errors import Fenced
from roost.core.ids import SessionId, Token, ToolCallId, TurnId
from roost.core.turns import TurnEnd
from roost.store.leases import Lease, session_lease
from roost.store.store import Store
from roost.testing.clock import FakeClock
from tests.store_driver import (
    CONFIG,
    HOLDER,
    OTHER_HOLDER,
    PROMPT,
    Driver,
    Run,
    draft,
    new_turn,
    opened,
    question,
    summary,
)
from tests.threads import in_threads

pytestmark = pytest.mark.both

TTL = 30


@pytest.mark.contract("B1")
@pytest.mark.parametrize("kind", ["named", "session"])
async def test_one_of_many_concurrent_claims_wins(store: Store, ada: Driver, kind: str) -> None:
    name = "scheduler" if kind == "named" else session_lease(await ada.session())

    async def claims(thread: int) -> list[Lease | None]:
        holders = [f"host:{thread}:{task}:nonce" for task in range(8)]
        return await asyncio.gather(*[store.leases.claim(name, holder) for holder in holders])

    results = [result for results in await in_threads(8, claims) for result in results]
    (won,) = [result for result in results if result is not None]
    assert len(results) == 64
    assert await store.leases.holder(name) == won


@pytest.mark.contract("B1")
async def test_each_claim_gets_a_greater_token(store: Store) -> None:
    tokens: list[int] = []
    for _ in range(3):
        lease = await store.leases.claim("scheduler", HOLDER)
        assert lease is not None
        tokens.append(lease.token)
        await store.leases.release(lease)
    assert tokens == sorted(set(tokens))


async def held(store: Store, name: str = "scheduler", holder: str = HOLDER) -> Lease:
    lease = await store.leases.claim(name, holder)
    assert lease is not None
    return lease


@pytest.mark.contract("B2")
async def test_holders_release_frees_at_once(store: Store) -> None:
    await store.leases.release(await held(store))
    assert await store.leases.holder("scheduler") is None
    assert (await held(store, holder=OTHER_HOLDER)).holder == OTHER_HOLDER


@pytest.mark.contract("B2")
async def test_release_by_anyone_else_changes_nothing(store: Store) -> None:
    lease = await held(store)
    for other in (
        replace(lease, holder=OTHER_HOLDER),
        replace(lease, token=Token(lease.token + 1)),
        replace(lease, token=Token(lease.token - 1)),
        replace(lease, name="another"),
    ):
        await store.leases.release(other)
    assert await store.leases.holder("scheduler") == lease


@pytest.mark.contract("B2")
async def test_release_by_an_earlier_claim_of_the_same_holder_changes_nothing(
    store: Store, clock: FakeClock
) -> None:
    earlier = await held(store)
    clock.advance(TTL)
    later = await held(store)
    await store.leases.release(earlier)
    assert await store.leases.holder("scheduler") == later


@pytest.mark.contract("B2")
async def test_release_of_what_is_not_held_is_a_no_op(store: Store) -> None:
    lease = await held(store)
    await store.leases.release(lease)
    await store.leases.release(lease)
    assert await store.leases.holder("scheduler") is None


@pytest.mark.contract("B2")
async def test_names_are_independent(store: Store) -> None:
    one, two = await held(store, "one"), await held(store, "two", OTHER_HOLDER)
    await store.leases.release(one)
    assert await store.leases.holder("one") is None
    assert await store.leases.holder("two") == two


@pytest.mark.contract("B2")
async def test_empty_name_is_never_granted_and_has_no_holder(store: Store) -> None:
    assert await store.leases.claim("", HOLDER) is None
    assert await store.leases.holder("") is None


@pytest.mark.contract("B3")
@pytest.mark.contract("B9")
async def test_lease_lapses_after_its_time_to_live(store: Store, clock: FakeClock) -> None:
    lease = await held(store)
    clock.advance(TTL - 0.001)
    assert await store.leases.holder("scheduler") == lease
    assert await store.leases.claim("scheduler", OTHER_HOLDER) is None
    clock.advance(0.001)
    assert await store.leases.holder("scheduler") is None
    taken = await held(store, holder=OTHER_HOLDER)
    assert taken.token > lease.token
    assert not await store.leases.renew(lease)
    assert await store.leases.holder("scheduler") == taken


class Stale(NamedTuple):
    """A turn whose runner slept through the end of its lease, in a session with a past."""

    run: Run
    call: ToolCallId
    past: TurnId
    next: TurnId


Write = Callable[[Driver, Stale], Awaitable[object]]

STALE_WRITES: dict[str, Write] = {
    "append": lambda ada, old: ada.say(old.run, "Too late"),
    "retry the step": lambda ada, old: ada.retry(old.run),
    "tool call": lambda ada, old: ada.turns.set_tool_call(
        old.run.session, old.run.token, old.run.turn, old.call, "running"
    ),
    "park": lambda ada, old: ada.turns.park(
        old.run.session, old.run.token, old.run.turn, (question(old.call),), ttl=60
    ),
    "complete": lambda ada, old: ada.end(old.run, "Too late"),
    "cancel": lambda ada, old: ada.end(old.run, state="cancelled"),
    "resume": lambda ada, old: ada.resume(old.run),
    "start": lambda ada, old: ada.turns.start(
        old.run.session, old.run.token, old.next, draft("Next", "user")
    ),
    "fail a queued turn": lambda ada, old: ada.turns.end(
        old.run.session, old.run.token, old.next, TurnEnd(state="failed", reason="why not")
    ),
    "undo": lambda ada, old: ada.history.undo(old.run.session, old.run.token, old.past),
    "edit": lambda ada, old: ada.history.edit(
        old.run.session, old.run.token, old.past, new_turn("Other words")
    ),
    "clear": lambda ada, old: ada.history.clear(old.run.session, old.run.token),
    "restore": lambda ada, old: ada.history.restore(old.run.session, old.run.token),
    "compact": lambda ada, old: compact(ada, old.run),
    "configure": lambda ada, old: ada.sessions.configure(
        old.run.session, old.run.token, CONFIG, PROMPT
    ),
    "end the session": lambda ada, old: ada.sessions.end(old.run.session, old.run.token),
}


async def compact(ada: Driver, run: Run) -> None:
    first = (await ada.live(run.session))[0].id
    await ada.history.compact(run.session, run.token, summary(0, (first,)))


@pytest.fixture
async def stale(ada: Driver, clock: FakeClock) -> Stale:
    session = await ada.session()
    past = await ada.talk(session)
    run = await ada.run(session)
    call = await ada.call_tool(run)
    waiting = await ada.submit(session, "Next")
    await ada.stream(run, "abc", attempt=2)
    clock.advance(TTL)
    await ada.claim(session, OTHER_HOLDER)
    return Stale(run, call.call, past, waiting)


@pytest.mark.contract("B3")
@pytest.mark.parametrize("write", STALE_WRITES.values(), ids=STALE_WRITES.keys())
async def test_old_holders_write_is_refused(ada: Driver, stale: Stale, write: Write) -> None:
    before = await ada.everything(stale.run.session)
    with pytest.raises(Fenced):
        await write(ada, stale)
    assert await ada.everything(stale.run.session) == before


@pytest.mark.contract("B3")
async def test_old_holders_checkpoint_is_refused(
    ada: Driver, stale: Stale, clock: FakeClock
) -> None:
    before = await ada.everything(stale.run.session)
    clock.advance(TTL)  # long enough for activity to show in the list
    tick = await ada.stream(stale.run, "def", first=4, attempt=2)
    assert tick.stored == {}
    assert tick.lost == {session_lease(stale.run.session)}
    session, *rest = await ada.everything(stale.run.session)
    assert (session.active_at, session.revision) == (before[0].active_at, before[0].revision)
    assert rest[-1] == before[-1]


@pytest.mark.contract("B3")
async def test_write_is_judged_by_its_token_not_by_the_time(ada: Driver, clock: FakeClock) -> None:
    run = await ada.run()
    clock.advance(100 * TTL)
    await ada.end(run, "Late, but nobody came in between")
    assert await ada.texts(run.session) == ["Hello", "Late, but nobody came in between"]


@pytest.mark.contract("B3")
async def test_new_holder_writes_where_the_old_one_may_not(ada: Driver, stale: Stale) -> None:
    taken = await ada.store.leases.holder(session_lease(stale.run.session))
    assert taken is not None
    await ada.end(stale.run._replace(lease=taken), "Saved", state="interrupted")
    assert (await ada.texts(stale.run.session))[-1] == "Saved"


@pytest.mark.contract("B4")
@pytest.mark.parametrize("by", ["tick", "renew"])
async def test_compaction_longer_than_the_time_to_live_keeps_its_lease(
    ada: Driver, clock: FakeClock, session: SessionId, by: str
) -> None:
    await ada.talk(session)
    lease = await ada.claim(session)
    for _ in range(10):
        clock.advance(TTL - 1)
        if by == "tick":
            assert (await ada.store.work.tick([], [lease])).lost == frozenset()
        else:
            assert await ada.store.leases.renew(lease)
        assert await ada.store.leases.claim(lease.name, OTHER_HOLDER) is None
    ids = tuple(message.id for message in await ada.live(session))
    await ada.history.compact(session, lease.token, summary(0, ids))
    assert await ada.texts(session) == ["In short: words."]


@pytest.mark.contract("B4")
async def test_each_tick_renews_before_the_lease_can_lapse(store: Store, clock: FakeClock) -> None:
    lease = await held(store)
    for _ in range(1000):
        clock.advance(0.2)
        await store.work.tick([], [lease])
        current = await store.leases.holder(lease.name)
        assert current is not None
        assert current.until - clock.now() >= TTL * 1000 // 2


@pytest.mark.contract("B4")
async def test_renewal_gives_back_nothing_that_was_taken(store: Store, clock: FakeClock) -> None:
    mine, other = await held(store), await held(store, "other")
    clock.advance(TTL)
    taken = await held(store, holder=OTHER_HOLDER)
    tick = await store.work.tick([], [mine, other])
    assert tick.lost == {"scheduler"}
    assert await store.leases.holder("scheduler") == taken
    assert await store.leases.holder("other") is not None


@pytest.mark.contract("B8")
async def test_holder_can_be_asked_for(store: Store, clock: FakeClock) -> None:
    claimed_at = clock.now()
    lease = await held(store)
    clock.advance(10)
    await store.leases.renew(lease)
    found = await store.leases.holder("scheduler")
    assert found is not None
    assert (found.holder, found.since, found.until) == (HOLDER, claimed_at, clock.now() + 30_000)
    assert await store.leases.holder("never claimed") is None


async def leave_running(folder: Path, clock: FakeClock) -> tuple[Run, Lease]:
    """A store whose process died in the middle of a turn: a copy of the files as they were."""
    async with opened(folder / "live", clock) as store:
        ada = await Driver.of(store, "Ada")
        run = await ada.run()
        await ada.stream(run, "abc")
        lease = await held(store)
        shutil.copytree(folder / "live", folder / "crashed")
    return run, lease


@pytest.mark.contract("B9")
async def test_restarted_owner_takes_over_at_once(tmp_path: Path, clock: FakeClock) -> None:
    run, lease = await leave_running(tmp_path, clock)
    async with opened(tmp_path / "crashed", clock) as store:
        (user,) = await store.users.all()
        ada = Driver(store, user)
        assert await store.leases.holder(run.lease.name) is None
        assert (await held(store)).token > lease.token
        assert (await ada.sessions.get(run.session)).state == "idle"
        (orphan,) = await store.work.orphans()
        assert (orphan.session, orphan.turn) == (run.session, run.turn)
        with pytest.raises(Fenced):
            await ada.say(run, "I live")
        assert (await ada.stream(run, "def", first=4)).stored == {}
        taken = await ada.claim(run.session)
        assert taken.token > run.token
        await ada.end(run._replace(lease=taken), "abc", state="interrupted")
        assert await ada.texts(run.session) == ["Hello", "abc"]
