"""Who may talk to Roost over channels, and what could not be said to them."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import msgspec
import structlog

from roost.core.ids import SessionId, TurnId, UserId
from roost.core.outbound import Asks, Failed, Said, Told, decode_outbound
from roost.core.pairing import hashed
from roost.core.turns import OutboxEntry
from roost.runtime.delivery import Delivery
from roost.runtime.persistence import persisted
from roost.store.outbox import Entry
from roost.store.pairings import Pairing
from roost.store.sessions import Route
from roost.store.store import Store

log = structlog.stdlib.get_logger("roost.channels")

LISTED = 200


class Undelivered(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a platform would not take, and why."""

    id: str
    user: UserId
    route: str
    session: SessionId | None
    turn: TurnId | None
    text: str
    error: str
    tries: int
    created_at: int


class Spot(NamedTuple):
    """A place on a channel, the session that is current there, and who or what it is, if known."""

    route: str
    session: SessionId | None
    name: str | None


class Contacts:
    """Who may do these things is for the surfaces to see to."""

    def __init__(self, store: Store, delivery: Delivery) -> None:
        self._store = store
        self._pairings = store.pairings
        self._outbox = store.outbox
        self._delivery = delivery

    async def pairings(self, channel: str | None = None) -> Sequence[Pairing]:
        return await self._pairings.all(channel)

    async def approve(self, code: str, user: UserId, *, by: str) -> Pairing:
        """Let in whoever was given this code: their words are that user's from now on."""
        paired = await persisted(partial(self._pairings.approve, hashed(code), user, by=by))
        log.info("a sender was paired", channel=paired.channel, sender=paired.sender, user=user)
        return paired

    async def block(self, channel: str, sender: str, *, by: str) -> Pairing:
        """They are not answered any more, nor told why."""
        log.info("a sender was blocked", channel=channel, sender=sender)
        return await persisted(partial(self._pairings.put, channel, sender, None, by=by))

    async def forget(self, channel: str, sender: str) -> None:
        """They are unknown again, and may ask for a code."""
        await persisted(partial(self._pairings.remove, channel, sender))

    async def places(self, user: UserId) -> Sequence[Spot]:
        """Where someone talked to Roost over channels, the last one first."""
        routes = await self._store.of(user).sessions.routes(limit=LISTED)
        names = [each for each in await self.pairings() if each.user == user and each.name]
        return [Spot(each.key, each.session, _name_of(each, names)) for each in routes]

    async def undelivered(self, user: UserId | None = None) -> Sequence[Undelivered]:
        """What could not be delivered, the newest first; everyone's, if no user is named."""
        found = await self._outbox.undelivered(user, limit=LISTED)
        return [_undelivered(each) for each in found]

    async def again(self, entry: str, user: UserId | None = None) -> None:
        """Try it once more, after all else that waits there."""
        found = await persisted(partial(self._outbox.again, entry, user))
        self._delivery.wrote((OutboxEntry(found.id, found.route, found.body),))

    async def drop(self, entry: str, user: UserId | None = None) -> None:
        await persisted(partial(self._outbox.drop, entry, user))


def _name_of(route: Route, pairings: Sequence[Pairing]) -> str | None:
    """A group is paired by its address, of which a topic or a thread is a part."""
    for each in pairings:
        is_theirs = route.sender == each.sender and route.key.startswith(f"{each.channel}:")
        if is_theirs or route.key == each.sender or route.key.startswith(f"{each.sender}:"):
            return each.name
    return None


def _undelivered(entry: Entry) -> Undelivered:
    return Undelivered(
        id=entry.id,
        user=entry.user,
        route=entry.route,
        session=entry.session,
        turn=entry.turn,
        text=_text(entry.body),
        error=entry.error or "",
        tries=entry.tries,
        created_at=entry.created_at,
    )


def _text(body: str) -> str:
    outbound = decode_outbound(body)
    match outbound:
        case Failed():
            return f"{outbound.text}\n\n{outbound.reason}".strip()
        case Asks():
            return f"{outbound.asked.does}: {outbound.asked.subject}"
        case Said():
            names = [file.name or file.media_type for file in outbound.files]
            return "\n\n".join([outbound.text, *names]).strip()
        case Told():
            return outbound.text
