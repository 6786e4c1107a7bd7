"""Tokens in the store: found by their hash, each user's own, of use until they are not."""

from pathlib import Path

import pytest

from roost.core.errors import Conflict, NotFound
from roost.core.identities import ApiToken
from roost.core.ids import ApiTokenId, new_api_token_id
from roost.store.store import Store
from roost.store.tokens import MOST
from roost.store.upkeep import DAY
from roost.testing.clock import FakeClock
from tests.store_driver import Driver
from tests.unit.store.tables import run_sql

pytestmark = pytest.mark.both


async def token_for(
    ada: Driver, hash: bytes = b"token", *, expires_at: int | None = None
) -> ApiToken:
    return await ada.store.of(ada.user.id).tokens.add(
        new_api_token_id(), hash, name="laptop", scopes=["read", "chat"], expires_at=expires_at
    )


async def test_token_is_found_by_its_hash(ada: Driver, clock: FakeClock) -> None:
    token = await token_for(ada)
    found = await ada.store.tokens.find(b"token")
    assert found is not None
    assert (found.user, found.id, found.scopes) == (ada.user, token.id, {"read", "chat"})
    assert await ada.store.tokens.find(b"other") is None
    assert (token.used_at, token.created_at) == (None, clock.now())
    clock.advance(5)
    await ada.store.tokens.touch([token.id])
    (listed,) = await ada.store.of(ada.user.id).tokens.all()
    assert listed.used_at == clock.now()


async def test_token_ends_at_its_time(ada: Driver, clock: FakeClock) -> None:
    await token_for(ada, expires_at=clock.now() + 1000)
    clock.advance(0.999)
    assert await ada.store.tokens.find(b"token") is not None
    clock.advance(0.001)
    assert await ada.store.tokens.find(b"token") is None
    assert await ada.store.of(ada.user.id).tokens.all() == []


async def test_tokens_are_each_users_own(ada: Driver, bob: Driver) -> None:
    token = await token_for(ada)
    theirs = bob.store.of(bob.user.id).tokens
    assert await theirs.all() == []
    with pytest.raises(NotFound):
        await theirs.revoke(token.id)
    assert await ada.store.tokens.owner(token.id) == ada.user.id
    await ada.store.of(ada.user.id).tokens.revoke(token.id)
    await ada.store.of(ada.user.id).tokens.revoke(token.id)
    assert await ada.store.tokens.find(b"token") is None
    with pytest.raises(NotFound):
        await ada.store.tokens.owner(ApiTokenId("tok_x"))


async def test_disabled_user_has_no_tokens(ada: Driver, bob: Driver) -> None:
    await token_for(bob)
    await ada.store.users.change(bob.user.id, disabled=True)
    assert await ada.store.tokens.find(b"token") is None
    with pytest.raises(Conflict):
        await token_for(bob, b"another")
    await ada.store.users.change(bob.user.id, disabled=False)
    assert await ada.store.tokens.find(b"token") is None


async def test_there_are_only_so_many(ada: Driver, clock: FakeClock) -> None:
    await token_for(ada, b"short", expires_at=clock.now() + 1)
    for number in range(MOST - 1):
        await token_for(ada, b"%d" % number)
    with pytest.raises(Conflict, match="Revoke one first"):
        await token_for(ada)
    clock.advance(1)
    await token_for(ada)


async def test_scopes_of_a_newer_roost_are_passed_over(
    store: Store, ada: Driver, folder: Path
) -> None:
    token = await token_for(ada)
    await run_sql(folder, 'UPDATE api_tokens SET scopes = \'["all", "read"]\'')
    found = await store.tokens.find(b"token")
    assert found is not None
    assert (found.id, found.scopes) == (token.id, {"read"})


async def test_what_ended_long_ago_is_swept(ada: Driver, clock: FakeClock) -> None:
    await token_for(ada, b"ended", expires_at=clock.now() + 1)
    revoked = await token_for(ada, b"revoked")
    await ada.store.of(ada.user.id).tokens.revoke(revoked.id)
    await token_for(ada, b"live")
    clock.advance(90 * DAY + 1)
    assert (await ada.store.upkeep.run()).sign_ins == 2
    assert await ada.store.tokens.find(b"live") is not None
