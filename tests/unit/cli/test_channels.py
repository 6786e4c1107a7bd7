"""`roost channels` and `roost pair`, on a folder with no server."""

import asyncio
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.inbound import Inbound, Place, Sender
from roost.core.pairing import hashed
from roost.store.inbox import Handled
from roost.store.pairings import Offer
from tests.store_driver import opened
from tests.unit.cli.test_user import Desk

CODE = "K7QF-2MXA"


@pytest.fixture
def desk(begun: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(begun, capsys)


def offer_code(folder: Path) -> None:
    async def work() -> None:
        inbound = Inbound(
            id="1", message="1", sender=Sender("99", "Eve"), place=Place("small:dm:99")
        )
        async with opened(folder, SystemClock()) as store:
            await store.inbox.put("small", [inbound], {})
            offer = Offer("99", "Eve", hashed(CODE), 3600)
            await store.inbox.handled("small", "1", Handled(offer=offer))

    asyncio.run(work())


def test_channel_is_set_up_and_listed_without_its_token(desk: Desk) -> None:
    assert "no channels" in desk.ask("channels", "list")
    assert desk.ask("channels", "undelivered") == "Nothing is undelivered.\n"
    assert "exclude one another" in desk.ask("channels", "undelivered", "--retry", "--drop", code=2)
    desk.ask("channels", "set", "telegram", "token=123:heron", "--reset", "idle 8h")
    listed = desk.ask("channels", "list")
    assert listed.startswith("telegram  telegram  off")
    assert "heron" not in listed
    desk.ask("channels", "remove", "telegram")
    assert "no channels" in desk.ask("channels")


@pytest.mark.contract("E3")
def test_code_is_approved_by_the_owner_and_only_once(desk: Desk) -> None:
    desk.ask("user", "list")
    offer_code(desk.folder)
    assert "pending" in desk.ask("pair", "list")
    assert "Eve can talk to Roost on small now, as owner." in desk.ask("pair", CODE.lower())
    assert "approved  owner" in desk.ask("pair", "list")
    desk.ask("pair", "block", "small", "99")
    assert "blocked" in desk.ask("pair", "list")
    desk.ask("pair", "forget", "small", "99")
    assert desk.ask("pair", "list") == (
        "Nobody is paired. Who writes to a channel gets a code for `roost pair CODE`.\n"
    )
