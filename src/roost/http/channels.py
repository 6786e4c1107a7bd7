"""Channels, who may talk over them, and what could not be delivered."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from roost.core.config import ChannelSetup
from roost.core.errors import InvalidInput
from roost.core.ids import USER_ID, SessionId, TurnId, UserId
from roost.core.keys import Key
from roost.core.messages import check_text
from roost.core.settings import (
    Choice,
    GroupsName,
    MembersName,
    ResetRule,
    ScopeName,
    SharingName,
    read_reset,
)
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.fields import Phrase
from roost.runtime.contacts import Undelivered
from roost.runtime.switchboard import Condition, Known
from roost.store.pairings import Pairing, PairingState

_Senders = Annotated[tuple[Phrase, ...], msgspec.Meta(max_length=1000)]
_Value = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]


class ChannelView(msgspec.Struct, frozen=True, kw_only=True):
    """`options` names those that are set, never their values. One that is `configured` stands in
    the configuration and can't be changed here. `condition` is how it is doing `since` then:
    `lost` is tried again by itself, `refused` needs a person. `received` waits to be handled,
    `waiting` to be sent."""

    name: str
    kind: str
    configured: bool
    groups: GroupsName
    members: MembersName
    sessions: SharingName
    reset: str
    allow: Sequence[str]
    block: Sequence[str]
    paused: Choice
    options: Sequence[str]
    condition: Condition
    since: int
    bot: str | None
    detail: str | None
    received: int
    waiting: int
    undelivered: int


class ChannelList(msgspec.Struct, frozen=True):
    """`kinds` are the platforms that there could be channels of."""

    channels: Sequence[ChannelView]
    kinds: Sequence[str]


class NewChannel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`kind` is the platform, if that is not the name. `options` are the platform's own and hold
    its token: those that are left out stay, null takes one out."""

    kind: Phrase | None = None
    groups: GroupsName = "mention"
    members: MembersName = "paired"
    sessions: SharingName = "group"
    reset: Phrase = "never"
    allow: _Senders = ()
    block: _Senders = ()
    paused: Choice = "no"
    options: Mapping[str, _Value | None] = {}

    def __repr__(self) -> str:
        return "NewChannel(…)"  # it may hold a token


class PairingView(msgspec.Struct, frozen=True, kw_only=True):
    """`sender` is a person's id on the platform, or a group's address; `user` is whose words theirs
    are."""

    channel: str
    sender: str
    user: UserId | None
    state: PairingState
    name: str | None
    created_at: int
    expires_at: int | None


class PairingList(msgspec.Struct, frozen=True):
    pairings: Sequence[PairingView]


class ApprovePairing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Without a `user` they are you."""

    code: Phrase
    user: Annotated[UserId, msgspec.Meta(pattern=USER_ID)] | None = None


class WhichSender(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    channel: Phrase
    sender: Phrase


class UndeliveredView(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a platform would not take, and why."""

    id: str
    route: str
    session: SessionId | None
    turn: TurnId | None
    text: str
    error: str
    tries: int
    created_at: int


class UndeliveredList(msgspec.Struct, frozen=True):
    messages: Sequence[UndeliveredView]


async def listed(call: Call) -> ChannelList:
    """List the channels, how they are set up and how they are doing."""
    board = call.callers.app.parts.switchboard
    return ChannelList([_view(each) for each in await board.all()], board.kinds())


async def added(call: Call, channel: str, body: NewChannel) -> ChannelView:
    """Add a channel, or set it up anew; it connects at once. What the configuration sets up can't
    be changed here."""
    check_text((body.allow, body.block, body.options, body.kind), "channel")
    setup = ChannelSetup(
        kind=None if body.kind is None else ScopeName(body.kind),
        groups=body.groups,
        members=body.members,
        sessions=body.sessions,
        reset=_reset(body.reset),
        allow=body.allow,
        block=body.block,
        paused=body.paused,
    )
    options = {name: _key(value) for name, value in body.options.items()}
    return _view(await call.callers.app.parts.switchboard.put(channel, setup, options))


async def removed(call: Call, channel: str) -> None:
    """Remove a channel that was added here, with its token."""
    await call.callers.app.parts.switchboard.remove(channel)


async def pairings(call: Call) -> PairingList:
    """List who may talk over channels, who is blocked, and whose code waits for approval."""
    found = await call.callers.app.parts.contacts.pairings()
    return PairingList([_pairing(each) for each in found])


async def approved(call: Call, body: ApprovePairing) -> PairingView:
    """Let in whoever was given a pairing code."""
    check_text(body.code, "code")
    parts, me = call.callers.app.parts, call.who.user
    return _pairing(await parts.contacts.approve(body.code, body.user or me.id, by=me.id))


async def blocked(call: Call, body: WhichSender) -> PairingView:
    """Answer a sender, or a group, no more."""
    check_text(body, "sender")
    contacts = call.callers.app.parts.contacts
    return _pairing(await contacts.block(body.channel, body.sender, by=call.who.user.id))


async def forgotten(call: Call, body: WhichSender) -> None:
    """Forget a sender: they are unknown again, and may ask for a code."""
    check_text(body, "sender")
    await call.callers.app.parts.contacts.forget(body.channel, body.sender)


async def undelivered(call: Call) -> UndeliveredList:
    """List messages that could not be delivered: yours, or everyone's for an admin."""
    found = await call.callers.app.parts.contacts.undelivered(_whose(call))
    return UndeliveredList([_message(each) for each in found])


async def again(call: Call, message: str) -> None:
    """Try once more to deliver a message."""
    await call.callers.app.parts.contacts.again(message, _whose(call))


async def dropped(call: Call, message: str) -> None:
    """Let go of a message that could not be delivered."""
    await call.callers.app.parts.contacts.drop(message, _whose(call))


def _whose(call: Call) -> UserId | None:
    """Nobody's in particular, for whoever may see to everyone's: by their token, too."""
    return None if call.who.may("admin") else call.who.user.id


def _reset(text: str) -> ResetRule:
    try:
        return read_reset(text)
    except ValueError:
        raise InvalidInput('A reset is "never", "idle 8h" or "daily 04:00".') from None


def _key(text: str | None) -> Key | None:
    try:
        return None if text is None else Key(text)
    except ValueError:
        raise InvalidInput("An option is one line of printable ASCII characters.") from None


def _view(known: Known) -> ChannelView:
    setup, status = known.setup, known.status
    return ChannelView(
        name=known.name,
        kind=known.kind,
        configured=known.configured,
        groups=setup.groups,
        members=setup.members,
        sessions=setup.sessions,
        reset=setup.reset,
        allow=setup.allow,
        block=setup.block,
        paused=setup.paused,
        options=known.options,
        condition=status.condition,
        since=status.since,
        bot=status.bot,
        detail=status.detail,
        received=known.received,
        waiting=known.waiting,
        undelivered=known.undelivered,
    )


def _pairing(pairing: Pairing) -> PairingView:
    return PairingView(
        channel=pairing.channel,
        sender=pairing.sender,
        user=pairing.user,
        state=pairing.state,
        name=pairing.name,
        created_at=pairing.created_at,
        expires_at=pairing.expires_at,
    )


def _message(found: Undelivered) -> UndeliveredView:
    return UndeliveredView(
        id=found.id,
        route=found.route,
        session=found.session,
        turn=found.turn,
        text=found.text,
        error=found.error,
        tries=found.tries,
        created_at=found.created_at,
    )


ENDPOINTS = (
    endpoint("GET", "/api/channels", listed, scope="admin"),
    endpoint("PUT", "/api/channels/{channel}", added, scope="admin"),
    endpoint("DELETE", "/api/channels/{channel}", removed, scope="admin"),
    endpoint("GET", "/api/pairings", pairings, scope="admin"),
    endpoint("POST", "/api/pairings/approve", approved, scope="admin"),
    endpoint("POST", "/api/pairings/block", blocked, scope="admin"),
    endpoint("POST", "/api/pairings/forget", forgotten, scope="admin"),
    endpoint("GET", "/api/undelivered", undelivered, scope="read"),
    endpoint("POST", "/api/undelivered/{message}/retry", again, scope="chat"),
    endpoint("DELETE", "/api/undelivered/{message}", dropped, scope="chat"),
)
