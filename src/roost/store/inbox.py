"""What channels received: kept before it is acknowledged, handled in order, once."""

from collections.abc import Mapping, Sequence

import msgspec

from roost.core.ids import TurnId, UserId
from roost.core.inbound import Inbound, decode_inbound, encode_inbound
from roost.core.turns import OutboxEntry
from roost.store.operations import (
    Engine,
    Operation,
    Rows,
    every,
    maybe,
    one,
    query,
    reading,
    writing,
)
from roost.store.outbox import put_outbox
from roost.store.pairings import Offer, Presence, note_presence, offer_pairing


class Waiting(msgspec.Struct, frozen=True):
    """A message that is not handled yet; `plan` is what was about to be done about it."""

    channel: str
    inbound: Inbound
    plan: str | None
    received_at: int


class _Row(msgspec.Struct, frozen=True, array_like=True):
    route: str
    id: str
    body: str
    plan: str | None
    received_at: int


class _Address(msgspec.Struct, frozen=True, array_like=True):
    address: str


class _Cursor(msgspec.Struct, frozen=True, array_like=True):
    name: str
    value: str


class Handled(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes true with the handling of a message: the turn it became, what is told, by whom
    it is to be paired, who talked on a private route."""

    turn: TurnId | None = None
    user: UserId = UserId("")
    tell: tuple[OutboxEntry, ...] = ()
    offer: Offer | None = None
    there: Presence | None = None


class Inbox:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @writing
    def put(
        self, channel: str, inbounds: Sequence[Inbound], cursors: Mapping[str, str]
    ) -> Operation[int]:
        """Keep messages in this order, and how far the platform was read; how many are new."""
        new = 0
        for inbound in inbounds:
            rows = yield query(
                "put_inbox",
                channel=channel,
                id=inbound.id,
                message=inbound.message or None,
                route=inbound.place.address,
                body=encode_inbound(inbound),
            )
            new += len(rows)
        for name, value in cursors.items():
            yield query("put_cursor", channel=channel, name=name, value=value)
        return new

    @reading
    def cursors(self, channel: str) -> Operation[Mapping[str, str]]:
        rows = yield query("cursors_of", channel=channel)
        return {row.name: row.value for row in every(rows, _Cursor)}

    @reading
    def addresses(self, channel: str, *, after: str, limit: int) -> Operation[Sequence[str]]:
        """Where something waits, of what comes after `after` by name."""
        rows = yield query("waiting_routes", channel=channel, after=after, limit=limit)
        return [row.address for row in every(rows, _Address)]

    @reading
    def next(self, channel: str, address: str) -> Operation[Waiting | None]:
        """The first that waits at one address."""
        found = _waiting(channel, (yield query("next_of_route", channel=channel, route=address)))
        return found[0] if found else None

    @writing
    def plan(self, channel: str, id: str, plan: str) -> Operation[None]:
        """Write down what will be done, unless that was done before."""
        yield query("plan_inbox", channel=channel, id=id, plan=plan)

    @writing
    def handled(self, channel: str, id: str, how: Handled) -> Operation[bool]:
        """Whether this was the first to handle it. The message itself is kept no longer."""
        if not (yield query("handled_inbox", channel=channel, id=id, turn=how.turn)):
            return False
        if how.there is not None:
            yield from note_presence(how.there)
        if how.offer is not None and not (yield from offer_pairing(channel, how.offer)):
            return True
        yield from put_outbox(how.user, how.tell)
        return True

    @reading
    def turn_of(self, channel: str, address: str, message: str) -> Operation[TurnId | None]:
        """The turn that an earlier message became."""
        rows = yield query("turn_of_message", channel=channel, route=address, message=message)
        found = maybe(rows, str)
        return None if found is None else TurnId(found)

    @reading
    def count(self, channel: str) -> Operation[int]:
        """How many wait."""
        return one((yield query("count_inbox", channel=channel)), int)


def _waiting(channel: str, rows: Rows) -> Sequence[Waiting]:
    return [
        Waiting(channel, decode_inbound(row.body), row.plan, row.received_at)
        for row in every(rows, _Row)
    ]
