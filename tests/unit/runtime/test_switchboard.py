"""Channels that were added: with their tokens, for as long as they are there."""

from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.config import ChannelSetup, Config
from roost.core.keys import Key
from roost.runtime.switchboard import Switchboard
from roost.store.store import Store
from roost.wiring import known_channels


async def loaded(store: Store) -> Switchboard:
    """As after a start."""
    board = Switchboard(store, {}, clock=SystemClock(), hide=lambda _: None)
    board.kinds = lambda: ["telegram"]
    await board.load()
    return board


async def test_token_of_a_channel_is_there_after_a_start(store: Store) -> None:
    await (await loaded(store)).put("telegram", ChannelSetup(), {"token": Key("secret")})
    found = (await loaded(store)).wanted()["telegram"]
    assert found.options["token"].reveal() == "secret"


async def test_channel_that_was_added_is_known_beside_a_running_server(
    store: Store, folder: Path
) -> None:
    await (await loaded(store)).put("telegram", ChannelSetup(), {"token": Key("secret")})
    known = await known_channels(Config(data=folder), {})
    assert known["telegram"].options["token"].reveal() == "secret"


@pytest.mark.both
async def test_token_that_was_left_behind_is_not_inherited_by_a_channel_of_that_name(
    store: Store,
) -> None:
    await store.secrets.put("channel/telegram/token", "old")
    await store.secrets.put("provider/telegram", "another thing")
    await (await loaded(store)).put("telegram", ChannelSetup(), {"api": Key("http://here")})
    found = (await loaded(store)).wanted()["telegram"]
    assert list(found.options) == ["api"]
    assert await store.secrets.get("provider/telegram") == "another thing"


@pytest.mark.both
async def test_token_goes_with_its_channel(store: Store) -> None:
    board = await loaded(store)
    await board.put("telegram", ChannelSetup(), {"token": Key("secret")})
    await board.remove("telegram")
    assert await store.secrets.names() == []
