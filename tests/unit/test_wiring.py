"""What runs between start and stop."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.config import Config, LeaseConfig, RetentionConfig
from roost.core.errors import KeyReused, StoreOwned
from roost.core.ids import SessionId, new_session_id, new_turn_id, new_user_id
from roost.core.messages import TextPart
from roost.core.sessions import NewSession
from roost.core.turns import NewTurn
from roost.core.users import User
from roost.store.sqlite.store import open_store
from roost.store.store import UserStore
from roost.testing.clock import FakeClock
from roost.wiring import running


def message(text: str) -> NewTurn:
    return NewTurn(id=new_turn_id(), parts=(TextPart(text),), key="once")


async def test_store_is_held_inside_and_free_after(tmp_path: Path) -> None:
    config = Config(data=tmp_path / "data")
    async with running(config, {}, {}):
        with pytest.raises(StoreOwned):
            open_store(config.data, clock=SystemClock(), version="other")
    await open_store(config.data, clock=SystemClock(), version="other").close()


async def test_store_is_free_after_an_error_which_comes_out_as_it_is(tmp_path: Path) -> None:
    config = Config(data=tmp_path / "data")
    with pytest.raises(LookupError):
        async with running(config, {}, {}):
            raise LookupError
    async with running(config, {}, {}):
        pass


async def test_lease_ttl_comes_from_the_configuration(tmp_path: Path) -> None:
    config = Config(data=tmp_path / "data", leases=LeaseConfig(ttl=timedelta(minutes=7)))
    async with running(config, {}, {}) as roost:
        lease = await roost.store.leases.claim("memory:x", "host:1:task:nonce")
        assert lease is not None
        assert lease.until - lease.since == 7 * 60 * 1000


async def test_retention_comes_from_the_configuration_and_is_applied_at_the_start(
    tmp_path: Path,
) -> None:
    user, session = new_user_id(), new_session_id()
    long_ago = FakeClock(SystemClock().now() - 60 * 60 * 1000)
    store = open_store(tmp_path, clock=long_ago, version="earlier")
    await store.users.create(User(id=user, name="wren", role="admin"))
    mine = store.of(user)
    await mine.sessions.create(NewSession(id=session, origin="test"))
    await mine.queue.submit(session, message("first"))
    await store.close()

    async with running(Config(data=tmp_path), {}, {}) as roost:
        await roost.store.upkeep.run()
        with pytest.raises(KeyReused):
            await roost.store.of(user).queue.submit(session, message("second"))

    brief = RetentionConfig(idempotency_keys=timedelta(minutes=30))
    async with (
        running(Config(data=tmp_path, retention=brief), {}, {}) as roost,
        asyncio.timeout(60),
    ):
        await submit_when_forgotten(roost.store.of(user), session)


async def submit_when_forgotten(store: UserStore, session: SessionId) -> None:
    while True:
        try:
            await store.queue.submit(session, message("second"))
        except KeyReused:
            continue
        return
