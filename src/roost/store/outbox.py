"""What goes to channels: in order for each route, split once, confirmed piece by piece."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from roost.core.errors import NotFound
from roost.core.ids import SessionId, TurnId, UserId
from roost.core.outbound import StoredPiece, decode_piece, encode_piece
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

UNKNOWN = ""
"""The platform's name for a message that may be there: it was about to be sent."""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """`wait` is how long it is not to be sent yet, `age` how long it has been there; both are in
    milliseconds."""

    id: str
    user: UserId
    route: str
    session: SessionId | None
    turn: TurnId | None
    body: str
    state: Literal["pending", "sent", "failed"]
    tries: int
    wait: int
    error: str | None
    created_at: int
    age: int


class Pending(msgspec.Struct, frozen=True, array_like=True):
    """A route on which something waits, the first of it for so many milliseconds at least."""

    route: str
    wait: int


class Numbered(msgspec.Struct, frozen=True):
    """A piece of an entry; `external` is the platform's name for it, once it is there."""

    number: int
    piece: StoredPiece
    external: str | None


class _PieceRow(msgspec.Struct, frozen=True, array_like=True):
    number: int
    body: str
    external: str | None


class Stopped(msgspec.Struct, frozen=True, array_like=True):
    """A channel's turn that was interrupted, and of which nothing was told."""

    user: UserId
    session: SessionId
    turn: TurnId
    route: str
    reason: str | None
    attempt: int


def put_outbox(
    user: UserId,
    entries: tuple[OutboxEntry, ...],
    *,
    session: SessionId | None = None,
    turn: TurnId | None = None,
) -> Operation[None]:
    """Add to the end of their routes; what is there by its id is left alone."""
    for entry in entries:
        yield query(
            "insert_outbox",
            id=entry.id,
            user=user,
            route=entry.route,
            session=session,
            turn=turn,
            body=entry.body,
        )


class Outbox:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @writing
    def put(
        self,
        user: UserId,
        entries: tuple[OutboxEntry, ...],
        *,
        session: SessionId | None = None,
        turn: TurnId | None = None,
    ) -> Operation[None]:
        yield from put_outbox(user, entries, session=session, turn=turn)

    @reading
    def routes(self, channel: str, *, after: str, limit: int) -> Operation[Sequence[Pending]]:
        """The routes of a channel on which something waits, of those that come after `after`."""
        start, last = _bounds(channel)
        rows = yield query("waiting_outbox", after=max(after, start), last=last, limit=limit)
        return every(rows, Pending)

    @reading
    def next(self, route: str) -> Operation[Entry | None]:
        return maybe((yield query("next_outbox", route=route)), Entry)

    @reading
    def get(self, entry: str) -> Operation[Entry]:
        found = maybe((yield query("outbox_entry", id=entry)), Entry)
        if found is None:
            raise NotFound("entry", entry)
        return found

    @reading
    def pieces(self, entry: str) -> Operation[Sequence[Numbered]]:
        return _numbered((yield query("pieces_of", id=entry)))

    @writing
    def split(self, entry: str, pieces: Sequence[StoredPiece]) -> Operation[Sequence[Numbered]]:
        """Settle what an entry is sent as. It is split once: whoever comes later gets the same."""
        found = _numbered((yield query("pieces_of", id=entry)))
        if found:
            return found
        if not (yield query("outbox_entry", id=entry)):
            raise NotFound("entry", entry)  # its session was deleted meanwhile
        for number, piece in enumerate(pieces):
            yield query("insert_piece", id=entry, number=number, body=encode_piece(piece))
        return _numbered((yield query("pieces_of", id=entry)))

    @writing
    def sent(self, entry: Entry, number: int, external: str) -> Operation[None]:
        """The platform has confirmed a piece; with the last of them the entry is over."""
        yield query("piece_sent", id=entry.id, number=number, external=external)
        yield query("outbox_sent", id=entry.id, external=external)
        if entry.turn is not None:
            yield query("progress_over", turn=entry.turn, route=entry.route)

    @writing
    def put_off(
        self, entry: str, seconds: float, error: str, *, counts: bool = True
    ) -> Operation[None]:
        """Not before so many seconds."""
        wait = round(seconds * 1000)
        yield query("put_off", id=entry, wait=wait, error=error, counts=counts)

    @writing
    def failed(self, entry: str, error: str) -> Operation[None]:
        """It can't be delivered: it is kept, and holds up nothing."""
        yield query("outbox_failed", id=entry, error=error)

    @writing
    def again(self, entry: str, user: UserId | None = None) -> Operation[Entry]:
        """Try once more what could not be delivered."""
        found = yield from self._undelivered(entry, user)
        yield query("outbox_again", id=entry)
        return found

    @writing
    def drop(self, entry: str, user: UserId | None = None) -> Operation[None]:
        """Let go of what could not be delivered."""
        yield from self._undelivered(entry, user)
        yield query("drop_undelivered", id=entry)
        yield query("drop_pieces", id=entry)

    def _undelivered(self, entry: str, user: UserId | None) -> Operation[Entry]:
        found = maybe((yield query("outbox_entry", id=entry)), Entry)
        if found is None or found.state != "failed" or user not in (None, found.user):
            raise NotFound("undelivered message", entry)
        return found

    @reading
    def undelivered(self, user: UserId | None = None, *, limit: int) -> Operation[Sequence[Entry]]:
        """What could not be delivered, the newest first; anyone's, if no user is named."""
        return every((yield query("undelivered", user=user, limit=limit)), Entry)

    @reading
    def counts(self, channel: str) -> Operation[tuple[int, int]]:
        """How many wait, and how many could not be delivered."""
        start, last = _bounds(channel)
        waiting = one((yield query("count_outbox", after=start, last=last)), int)
        return waiting, one((yield query("count_undelivered", after=start, last=last)), int)

    # What shows how far an answer has come.

    @writing
    def show(self, turn: TurnId, route: str, external: str) -> Operation[None]:
        """The answer takes the place of this message when it is sent, also after a restart."""
        yield query("show_progress", turn=turn, route=route, external=external)

    @reading
    def shown(self, turn: TurnId, route: str) -> Operation[str | None]:
        return maybe((yield query("progress_of", turn=turn, route=route)), str)

    @reading
    def said(self, route: str, external: str) -> Operation[str | None]:
        """What a message of ours says."""
        body = maybe((yield query("piece_by_external", route=route, external=external)), str)
        return None if body is None else decode_piece(body).text

    @reading
    def unreported(self, window: float) -> Operation[Sequence[Stopped]]:
        """Turns of channels that stopped short in the last `window` seconds, without a word."""
        return every((yield query("unreported_turns", window=round(window * 1000))), Stopped)


def _bounds(channel: str) -> tuple[str, str]:
    return f"{channel}:", f"{channel};"


def _numbered(rows: Rows) -> Sequence[Numbered]:
    return [
        Numbered(row.number, decode_piece(row.body), row.external) for row in every(rows, _PieceRow)
    ]
