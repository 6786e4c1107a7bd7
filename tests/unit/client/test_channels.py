"""The channels of a running server, seen to by who has its folder."""

from collections.abc import AsyncGenerator
from typing import NamedTuple

import pytest

from roost.client.channels import Contacts, Switchboard
from roost.core.config import ChannelSetup
from roost.core.errors import InvalidInput, NotFound
from roost.core.inbound import Inbound, Place, Sender
from roost.core.keys import Key
from roost.core.outbound import Told, encode_outbound
from roost.core.pairing import hashed
from roost.core.turns import OutboxEntry
from roost.store.inbox import Handled
from roost.store.pairings import Offer
from roost.wiring import Roost
from tests.attached import connection_to

CODE = "K7QF-2MXA"


class Attached(NamedTuple):
    board: Switchboard
    contacts: Contacts


@pytest.fixture
async def attached(roost: Roost) -> AsyncGenerator[Attached]:
    roost.app.parts.switchboard.kinds = lambda: ("webhook",)
    async with connection_to(roost) as connection:
        yield Attached(Switchboard(connection), Contacts(connection))


async def test_channels_are_set_up(roost: Roost, attached: Attached) -> None:
    here, there = roost.app.parts.switchboard, attached.board
    made = await there.put("webhook", ChannelSetup(groups="all"), {"secret": Key("heron")})
    assert (made.setup.groups, made.options) == ("all", ("secret",))
    assert here.wanted()["webhook"].options == {"secret": Key("heron")}
    assert [each.name for each in await there.all()] == ["webhook"]
    await there.put("webhook", made.setup, {"secret": None})
    assert (await there.get("webhook")).options == ()
    await there.remove("webhook")
    with pytest.raises(NotFound):
        await there.get("webhook")
    with pytest.raises(InvalidInput, match="no kind of channel pigeon"):
        await there.put("pigeon", ChannelSetup(), {})


async def test_people_are_let_in_and_blocked(roost: Roost, attached: Attached) -> None:
    owner, store, contacts = await roost.app.owner(), roost.store, attached.contacts
    inbound = Inbound(id="1", message="1", sender=Sender("9", "Eve"), place=Place("small:dm:9"))
    await store.inbox.put("small", [inbound], {})
    await store.inbox.handled("small", "1", Handled(offer=Offer("9", "Eve", hashed(CODE), 60)))
    assert [each.state for each in await contacts.pairings()] == ["pending"]
    paired = await contacts.approve(CODE, owner.id, by="cli")
    assert (paired.user, paired.state) == (owner.id, "approved")
    assert (await contacts.block("small", "9", by="cli")).state == "blocked"
    await contacts.forget("small", "9")
    assert await contacts.pairings() == []
    with pytest.raises(NotFound):
        await contacts.approve(CODE, owner.id, by="cli")


async def test_what_could_not_be_delivered_is_seen_to(roost: Roost, attached: Attached) -> None:
    owner, outbox, contacts = await roost.app.owner(), roost.store.outbox, attached.contacts
    entry = OutboxEntry("out_1", "small:dm:9", encode_outbound(Told("Hello")))
    await outbox.put(owner.id, (entry,))
    await outbox.failed("out_1", "gone")
    (lost,) = await contacts.undelivered()
    assert (lost.text, lost.error) == ("Hello", "gone")
    await contacts.again("out_1")
    assert (await outbox.get("out_1")).state == "pending"
    await outbox.failed("out_1", "gone")
    await contacts.drop("out_1")
    with pytest.raises(NotFound):
        await outbox.get("out_1")
