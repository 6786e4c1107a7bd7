"""A user who is removed is gone at once, and leaves nothing."""

from functools import partial
from pathlib import Path

import pytest

from roost.core.approvals import Rule
from roost.core.errors import Conflict, NotFound
from roost.core.facts import Learned, NewFact
from roost.core.identities import hash_of, new_token
from roost.core.ids import (
    BlobId,
    UserId,
    new_fact_id,
    new_rule_id,
    new_schedule_id,
    new_sign_in_id,
    new_turn_id,
    new_user_id,
)
from roost.core.messages import ImagePart
from roost.core.schedules import NewSchedule, When
from roost.core.turns import NewTurn
from roost.core.users import Caps, User
from roost.store.folder import BLOBS
from roost.store.removal import purge_rows
from roost.store.store import Store
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, eventually
from tests.unit.store.tables import rows_naming, run_sql

pytestmark = pytest.mark.both

SCOPE = "builtin/default/bob"


async def settled_in(bob: Driver) -> None:
    """Something of every kind that a user can have."""
    mine, id = bob.store.of(bob.user.id), bob.user.id
    run = await bob.run()
    await bob.call_tool(run)
    await bob.stream(run, "abc", attempt=2)
    await bob.sessions.point("web", run.session)
    facts = [NewFact(id=new_fact_id(), text=f"{n} owls", entities=("Bob",)) for n in range(300)]
    await bob.facts.apply(SCOPE, "key", Learned(additions=tuple(facts)))
    await mine.rules.add(Rule(id=new_rule_id(), tool="ls", pattern=None, decision="allow"))
    when = When(kind="every", spec="1h", time_zone="UTC")
    schedule = NewSchedule(id=new_schedule_id(), name="x", when=when, text="x", session=run.session)
    await bob.schedules.add(schedule)
    await bob.schedules.run(schedule.id, new_turn_id(), None)
    token, secret = new_token()
    await mine.tokens.add(token, hash_of(secret.reveal()), name="x", scopes=("read",))
    await mine.sign_ins.add_link(new_sign_in_id(), b"hash", 60)
    await bob.settings.put("model", '"x"')
    await bob.secrets.put("key", "secret")
    await bob.store.users.set_caps(id, Caps(day_tokens=1))


async def attached(who: Driver, data: bytes) -> BlobId:
    blob = await who.blobs.put_bytes(data, "image/png")
    parts = (ImagePart(blob.id, "image/png"),)
    await who.queue.submit(await who.session(), NewTurn(id=new_turn_id(), parts=parts))
    return blob.id


async def test_removed_user_leaves_nothing(
    ada: Driver, bob: Driver, folder: Path, clock: FakeClock
) -> None:
    await settled_in(bob)
    his, shared = await attached(bob, b"his"), await attached(bob, b"shared")
    assert shared == await attached(ada, b"shared")
    assert len(await ada.store.users.remove(bob.user.id)) == 3
    clock.advance(61)

    async def gone() -> bool:
        await ada.store.upkeep.run()
        return not await rows_naming(folder, bob.user.id)

    await eventually(gone)
    files = {path.name for path in (folder / BLOBS).rglob("*") if path.is_file()}
    assert his not in files
    assert await ada.blobs.read_bytes(shared) == b"shared"
    assert (await ada.store.upkeep.run()).users == 0


async def with_much_of(folder: Path, user: UserId) -> None:
    """Thousands of rows of every kind that grows with use."""
    numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2100) "
    for insert, values in (
        ("facts_applied", f"'{user}', 'scope', 'key' || i, 1"),
        ("entities (id, user_id, scope, name)", f"1000000 + i, '{user}', 'scope', 'name' || i"),
        ("entity_names", f"'{user}', 'scope', 'name' || i, 'Name', 1000000 + i"),
        ("schedule_runs", f"(SELECT id FROM schedules WHERE user_id = '{user}'), i, NULL, 1"),
        (
            "outbox (id, user_id, route, ordinal, body, state, due_at, created_at)",
            f"'out_{user}_' || i, '{user}', 'small:dm:1', i, '{{}}', 'pending', 1, 1",
        ),
        ("outbox_pieces (outbox_id, number, body)", f"'out_{user}_' || i, 1, '{{}}'"),
        (
            "usage (source, provider, model, user_id, session_id, calls, input_tokens, "
            "cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost, unpriced, "
            "at)",
            f"'trn_' || i, 'p', 'm', '{user}', 'ses_1', 1, 1, 0, 0, 1, 0, 1, 0, 1",
        ),
    ):
        await run_sql(folder, f"INSERT INTO {insert} {numbers} SELECT {values} FROM n")


async def test_rows_of_removed_user_go_some_at_a_time(
    ada: Driver, bob: Driver, folder: Path
) -> None:
    await settled_in(bob)
    await with_much_of(folder, bob.user.id)
    await ada.store.users.remove(bob.user.id)
    left = await rows_naming(folder, bob.user.id)
    most = 0
    while await ada.store.work.engine.write(partial(purge_rows, bob.user.id)):
        before, left = left, await rows_naming(folder, bob.user.id)
        gone = [number - left.get(table, 0) for table, number in before.items()]
        most = max(most, *gone)
    assert 0 < most <= 1000
    assert max(left.values()) < 10


async def test_removed_user_is_nobody_at_once(store: Store, ada: Driver, bob: Driver) -> None:
    session = await bob.session()
    await store.users.set_password(bob.user.id, "hash")
    assert await store.users.remove(bob.user.id) == [session]
    assert [user.name for user in await store.users.all()] == ["Ada"]
    assert await store.users.credentials("Bob") is None
    for found in (
        store.users.get(bob.user.id),
        store.users.named("Bob"),
        bob.sessions.get(session),
    ):
        with pytest.raises(NotFound):
            await found
    again = await store.users.create(User(id=new_user_id(), name="Bob", role="member"))
    assert await store.users.named("bob") == again


async def test_removing_again_changes_nothing(store: Store, ada: Driver, bob: Driver) -> None:
    await bob.session()
    await store.users.remove(bob.user.id)
    assert not await store.users.remove(bob.user.id)
    with pytest.raises(NotFound):
        await store.users.remove(new_user_id())


async def test_last_admin_is_not_removed(store: Store, ada: Driver, bob: Driver) -> None:
    session = await ada.session()
    with pytest.raises(Conflict, match="last admin"):
        await store.users.remove(ada.user.id)
    assert (await ada.sessions.get(session)).user == ada.user.id
    await store.users.change(bob.user.id, role="admin")
    await store.users.remove(ada.user.id)
    assert [user.name for user in await store.users.all()] == ["Bob"]
