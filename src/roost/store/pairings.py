"""Who may talk to Roost over a channel, as whom."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from roost.core.errors import NotFound
from roost.core.ids import UserId
from roost.store.operations import Engine, Operation, every, maybe, one, query, reading, writing
from roost.store.users import check_enabled

PairingState = Literal["pending", "approved", "blocked"]

MOST_PENDING = 100
"""Codes that hold at a time, of one channel: strangers can't fill the store."""


class Pairing(msgspec.Struct, frozen=True, array_like=True):
    """`sender` is a person's id on the platform, or the address of a group; `user` is whose words
    theirs are."""

    channel: str
    sender: str
    user: UserId | None
    state: PairingState
    name: str | None
    created_at: int
    expires_at: int | None
    decided_at: int | None
    decided_by: str | None


class Offer(msgspec.Struct, frozen=True):
    """A code for someone unknown; what is kept of it is its hash."""

    sender: str
    name: str
    code: bytes
    ttl: float


class Presence(msgspec.Struct, frozen=True):
    """That `sender` talks on a private route, as `user`."""

    user: UserId
    route: str
    sender: str


class There(msgspec.Struct, frozen=True):
    """Who is at the other end of a route, if that is one person, and what is known of them; whether
    it is in a group that is blocked."""

    sender: str | None
    pairing: Pairing | None
    blocked: bool


def offer_pairing(channel: str, offer: Offer) -> Operation[bool]:
    """Whether the code holds: who has one that does gets no other."""
    yield query("expire_pairings", channel=channel)
    if one((yield query("count_pending", channel=channel)), int) >= MOST_PENDING:
        return False
    rows = yield query(
        "offer_pairing",
        channel=channel,
        sender=offer.sender,
        code=offer.code,
        name=offer.name,
        ttl=round(offer.ttl * 1000),
    )
    return bool(rows)


def note_presence(there: Presence) -> Operation[None]:
    """What goes to a private route is for them, and ends with their pairing."""
    yield query("person_on_route", user=there.user, route=there.route, sender=there.sender)


class Pairings:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @reading
    def find(self, channel: str, sender: str) -> Operation[Pairing | None]:
        return maybe((yield query("find_pairing", channel=channel, sender=sender)), Pairing)

    @reading
    def all(self, channel: str | None = None) -> Operation[Sequence[Pairing]]:
        """The newest first, without codes that hold no longer."""
        return every((yield query("list_pairings", channel=channel)), Pairing)

    @writing
    def approve(self, code: bytes, user: UserId, *, by: str) -> Operation[Pairing]:
        """From now on whoever was given this code speaks as that user."""
        yield from check_enabled(user)
        found = maybe((yield query("approve_pairing", code=code, user=user, by=by)), Pairing)
        if found is None:
            raise NotFound("pairing", "with that code (codes hold for an hour, once)")
        yield from _leave(found.channel, found.sender, user)
        return found

    @writing
    def claim(
        self, channel: str, group: str, user: UserId, *, name: str | None = None
    ) -> Operation[Pairing]:
        """A group is that user's from now on, if it is nobody's; as it stands then."""
        yield query("claim_pairing", channel=channel, sender=group, user=user, name=name)
        return one((yield query("find_pairing", channel=channel, sender=group)), Pairing)

    @writing
    def put(
        self,
        channel: str,
        sender: str,
        user: UserId | None,
        *,
        by: str,
        name: str | None = None,
    ) -> Operation[Pairing]:
        """Settle who a sender is, whatever was before; nobody is blocked."""
        if user is not None:
            yield from check_enabled(user)
        state = "blocked" if user is None else "approved"
        return (yield from _put(channel, sender, user, state, name, by))

    @writing
    def remove(self, channel: str, sender: str) -> Operation[None]:
        """They are unknown again."""
        if not (yield query("remove_pairing", channel=channel, sender=sender)):
            raise NotFound("pairing", f"{channel}:{sender}")
        yield from _leave(channel, sender, None)

    @reading
    def there(self, channel: str, user: UserId, route: str) -> Operation[There]:
        """Whom something that is said on a route reaches."""
        blocked = yield query("group_is_blocked", channel=channel, route=route, after=f"{channel}:")
        sender = maybe((yield query("sender_on_route", user=user, route=route)), str)
        if sender is None:
            return There(None, None, bool(blocked))
        found = maybe((yield query("find_pairing", channel=channel, sender=sender)), Pairing)
        return There(sender, found, bool(blocked))


def _leave(channel: str, sender: str, user: UserId | None) -> Operation[None]:
    """Nothing is current any more where they talked as anyone but that user."""
    after, last = f"{channel}:", f"{channel};"
    yield query("leave_person", after=after, last=last, sender=sender, user=user)


def _put(
    channel: str,
    sender: str,
    user: UserId | None,
    state: PairingState,
    name: str | None,
    by: str,
) -> Operation[Pairing]:
    yield query(
        "put_pairing", channel=channel, sender=sender, user=user, state=state, name=name, by=by
    )
    yield from _leave(channel, sender, user)
    return one((yield query("find_pairing", channel=channel, sender=sender)), Pairing)
