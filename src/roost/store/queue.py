"""A user's messages that wait for their turn: submitted, edited, removed."""

import hashlib
from collections.abc import Sequence

import msgspec

from roost.core.errors import Conflict, InvalidInput, KeyReused, NotFound, QueueChanged
from roost.core.events import Event, SessionUpdated, TurnUpdated
from roost.core.ids import SessionId, TurnId, UserId
from roost.core.messages import Draft, Part, attachments, decode_parts, encode_parts
from roost.core.turns import NewTurn, Turn
from roost.store.operations import Engine, Operation, maybe, query, reading, writing
from roost.store.rows import TurnRow, turn_of, turns_of
from roost.store.writes import check_session, enter, name_blobs, record


class _Submitted(msgspec.Struct, frozen=True, array_like=True):
    id: TurnId
    session: SessionId
    fingerprint: bytes


def turn_row(user: UserId, turn: TurnId) -> Operation[TurnRow]:
    row = maybe((yield query("find_turn", user=user, turn=turn)), TurnRow)
    if row is None:
        raise NotFound("turn", turn)
    return row


def turn_in(user: UserId, session: SessionId, turn: TurnId) -> Operation[TurnRow]:
    row = yield from turn_row(user, turn)
    if row.session != session:
        raise NotFound("turn", turn)
    return row


def check_queued(row: TurnRow, message: Draft) -> None:
    """A message may have been edited or removed after whoever takes it up has read it."""
    if row.state != "queued":
        raise QueueChanged(f"Turn {row.id} is {row.state} and waits no longer.")
    words = decode_parts(row.input)
    if message.parts[-len(words) :] != words:
        raise QueueChanged(f"Turn {row.id} says something else by now. Nothing was written.")


def _fingerprint(new: NewTurn) -> bytes:
    body = [encode_parts(new.parts), new.steer, new.route, new.options, new.ephemeral]
    return hashlib.sha256(msgspec.json.encode(body)).digest()


def enqueue(
    user: UserId, session: SessionId, new: NewTurn, *, front: bool
) -> Operation[list[Event]]:
    """Store a message with its turn; the caller has raised the revision and records the events. A
    session that was ended goes on with it."""
    if not new.parts:
        raise InvalidInput("The message is empty.")
    yield from name_blobs(user, session, attachments(new.parts))
    yield query(
        "insert_turn",
        turn=new.id,
        session=session,
        front=front,
        steer=new.steer,
        route=new.route,
        options=msgspec.json.encode(new.options).decode(),
        ephemeral=new.ephemeral,
        key=new.key,
        fingerprint=_fingerprint(new),
        input=encode_parts(new.parts),
    )
    events: list[Event] = [TurnUpdated(new.id, "queued")]
    if (yield query("reopen_session", session=session)):
        events.append(SessionUpdated(("ended_at",)))
    return events


def submitted_before(session: SessionId, new: NewTurn) -> Operation[TurnId | None]:
    """The turn that an earlier sending of this message became."""
    rows = yield query("find_submitted", turn=new.id, session=session, key=new.key)
    found = maybe(rows, _Submitted)
    if found is None:
        return None
    if found.session != session or found.fingerprint != _fingerprint(new):
        raise KeyReused(key=new.key if found.id != new.id and new.key else new.id)
    return found.id


def submit(user: UserId, session: SessionId, new: NewTurn) -> Operation[Turn]:
    yield from check_session(user, session)
    first = yield from submitted_before(session, new)
    if first is None:
        head = yield from enter(user, session, None)
        events = yield from enqueue(user, session, new, front=False)
        yield from record(session, head.revision, *events)
    return turn_of((yield from turn_row(user, first or new.id)))


class Queue:
    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @reading
    def of(self, session: SessionId) -> Operation[Sequence[Turn]]:
        """A session's queue, first to run first."""
        rows = yield query("list_queue", user=self._user, session=session)
        return turns_of(rows)

    @writing
    def submit(self, session: SessionId, new: NewTurn) -> Operation[Turn]:
        """Store a message at the end of the queue (D1). Sent twice, it is one turn. A session that
        was ended goes on with it."""
        return (yield from submit(self._user, session, new))

    @writing
    def edit(
        self, turn: TurnId, parts: tuple[Part, ...] | None, *, steer: bool | None = None
    ) -> Operation[Turn]:
        """Other words, or another way to be heard; None stays as it is."""
        row = yield from self._still_queued(turn)
        if parts == ():
            raise InvalidInput("The message is empty.")
        head = yield from enter(self._user, row.session, None)
        yield from name_blobs(self._user, row.session, attachments(parts or ()))
        words = None if parts is None else encode_parts(parts)
        yield query("edit_queued", turn=turn, input=words, steer=steer)
        yield from record(row.session, head.revision, TurnUpdated(turn, "queued"))
        return turn_of((yield from turn_row(self._user, turn)))

    @writing
    def remove(self, turn: TurnId) -> Operation[None]:
        row = yield from self._still_queued(turn)
        head = yield from enter(self._user, row.session, None, active=False)
        yield query("set_turn_state", turn=turn, state="removed", reason=None, ended=True, at=None)
        yield from record(row.session, head.revision, TurnUpdated(turn, "removed"))

    def _still_queued(self, turn: TurnId) -> Operation[TurnRow]:
        row = yield from turn_row(self._user, turn)
        if row.state != "queued":
            raise Conflict(f"Turn {turn} is {row.state}; only a queued one can be changed.")
        return row
