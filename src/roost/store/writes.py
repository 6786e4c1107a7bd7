"""Steps that operations share: raise a session's revision, place messages, record events."""

import msgspec

from roost.core.errors import Conflict, Fenced, InvalidInput, NotFound
from roost.core.events import AttemptBegan, Event, MessageAdded, ToolCallUpdated
from roost.core.ids import BlobId, MessageId, SessionId, Token, TurnId, UserId
from roost.core.messages import (
    Draft,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    attachments,
    encode_parts,
)
from roost.core.usage import Usage
from roost.store.operations import Operation, Query, maybe, one, query

ACTIVITY = 1000
"""Milliseconds: the list of sessions shows when one was last active no finer than this, so that few
writes need to move it there."""


ROW, SLICE = 200, 1 << 19
"""What a row takes besides its texts, and how much of what is long is written at once, in bytes."""


class Head(msgspec.Struct, frozen=True, array_like=True):
    """Where a session stands: its revision raised for this write, its messages not yet added."""

    revision: int
    epoch: int
    head: int
    quiet: int
    """Milliseconds since its last activity in the list."""


class NextAttempt(Head, frozen=True, array_like=True):
    """The same for the turn that runs, with the attempt that begins."""

    step: int
    attempt: int


class Placed(msgspec.Struct, frozen=True, array_like=True):
    position: int
    revision: int
    born: int
    gone: int | None
    session: SessionId


class Written(msgspec.Struct, frozen=True, array_like=True):
    """What a write to a session left behind: its revision, epoch, and the newest position."""

    revision: int
    epoch: int
    head: int


def enter(
    user: UserId, session: SessionId, token: Token | None, *, active: bool = True
) -> Operation[Head]:
    """Begin a write: raise the revision if the session is there, ours, and the token is current."""
    head = maybe((yield _raise(user, session, token, ())), Head)
    if head is None:
        yield from check_session(user, session)
        raise Fenced(session=session, token=token)
    if active and head.quiet >= ACTIVITY:
        yield query("stir_session", session=session)
    return head


def enter_adding(
    user: UserId,
    session: SessionId,
    token: Token,
    drafts: tuple[Draft, ...],
    *,
    active: bool = True,
    begins: AttemptBegan | None = None,
) -> Operation[Head | Written]:
    """Begin a write that adds messages, which are then to be placed; an attempt begins with it, or
    none. If these very messages were written before, the result of that."""
    head = maybe((yield _raise(user, session, token, drafts, begins)), Head)
    if head is None:
        yield from check_session(user, session)
        if first := (yield from already_written(user, session, drafts)):
            return first
        raise Fenced(session=session, token=token)
    if active and head.quiet >= ACTIVITY:
        yield query("stir_session", session=session)
    return head


def enter_next_attempt(
    user: UserId,
    session: SessionId,
    token: Token,
    turn: TurnId,
    drafts: tuple[Draft, ...],
    *,
    steps: int,
) -> Operation[NextAttempt | Written | None]:
    """The same for a turn that runs, whose next attempt begins, of the same step or of the next:
    what the one before streamed is dropped. None if the turn does not run."""
    rows = yield query(
        "raise_attempt",
        user=user,
        session=session,
        token=token,
        turn=turn,
        steps=steps,
        adds=len(drafts),
        answers=answers(drafts),
        last=drafts[-1].id if drafts else None,
    )
    head = maybe(rows, NextAttempt)
    if head is None:
        yield from check_session(user, session)
        if first := (yield from already_written(user, session, drafts)):
            return first
        yield from check_token(user, session, token)
        return None
    if head.quiet >= ACTIVITY:
        yield query("stir_session", session=session)
    return head


def _raise(
    user: UserId,
    session: SessionId,
    token: Token | None,
    drafts: tuple[Draft, ...],
    begins: AttemptBegan | None = None,
) -> Query:
    return query(
        "raise_revision",
        user=user,
        session=session,
        token=token,
        step=begins.step if begins else None,
        attempt=begins.attempt if begins else None,
        adds=len(drafts),
        answers=answers(drafts),
        last=drafts[-1].id if drafts else None,
    )


def check_session(user: UserId, session: SessionId) -> Operation[None]:
    if not (yield query("session_is_there", user=user, session=session)):
        raise NotFound("session", session)


def check_token(user: UserId, session: SessionId, token: Token) -> Operation[None]:
    """Refuse a stale writer that has nothing to write."""
    if not (yield query("token_is_current", user=user, session=session, token=token)):
        yield from check_session(user, session)
        raise Fenced(session=session, token=token)


def refuse_while_live(session: SessionId) -> Operation[None]:
    if live := maybe((yield query("live_turn", session=session)), str):
        raise Conflict(f"Turn {live} of this session is under way. Cancel it or wait for it.")


def record(session: SessionId, revision: int, *events: Event) -> Operation[None]:
    """Note what a write did that adds no message."""
    yield query("record_events", session=session, revision=revision, body=_json(events))


_encode = msgspec.json.Encoder().encode


def _json(events: tuple[Event, ...]) -> str:
    return _encode(events).decode()


def added(
    session: SessionId, turn: TurnId | None, drafts: tuple[Draft, ...]
) -> Operation[list[Event]]:
    """What happens with messages that are about to be placed: themselves, and what becomes of the
    tool calls and results they carry."""
    events: list[Event] = []
    for draft in drafts:
        events.append(MessageAdded(draft.id))
        for part in draft.parts if turn is not None else ():
            if isinstance(part, TextPart):
                continue  # most of them are: the quickest to tell
            if isinstance(part, ToolCallPart):
                yield query(
                    "insert_tool_call",
                    session=session,
                    call=part.call,
                    turn=turn,
                    name=part.name,
                    arguments=part.arguments,
                )
                events.append(ToolCallUpdated(part.call, "requested"))
            elif isinstance(part, ToolResultPart):
                yield query("place_result", session=session, call=part.call)
    return events


def place(
    user: UserId,
    session: SessionId,
    head: Head,
    turn: TurnId | None,
    drafts: tuple[Draft, ...],
    *events: Event,
) -> Operation[None]:
    """Append messages at the end of the history, and note with the last of them all that the write
    did."""
    if not drafts:
        yield from record(session, head.revision, *events)
    for position, draft in enumerate(drafts, head.head + 1):
        noted = _json(events) if draft is drafts[-1] else None
        yield from insert(user, session, head.revision, head.epoch, position, turn, draft, noted)


def insert(
    user: UserId,
    session: SessionId,
    revision: int,
    epoch: int,
    position: int,
    turn: TurnId | None,
    draft: Draft,
    events: str | None = None,
) -> Operation[None]:
    if blobs := attachments(draft.parts):
        yield from name_blobs(user, session, blobs)
    yield query(
        "insert_message",
        message=draft.id,
        session=session,
        position=position,
        revision=revision,
        epoch=epoch,
        turn=turn,
        role=draft.role,
        partial=draft.partial,
        parts=encode_parts(draft.parts),
        events=events,
    )


def name_blobs(user: UserId, session: SessionId, blobs: set[BlobId]) -> Operation[None]:
    """Tie blobs to the session that names them. They must be stored, by this user, beforehand."""
    named = yield from name_stored_blobs(user, session, blobs)
    if lost := sorted(blobs - named):
        raise InvalidInput(f"The attachment {lost[0]} is not stored here. Upload it first.")


def name_stored_blobs(
    user: UserId, session: SessionId, blobs: set[BlobId]
) -> Operation[set[BlobId]]:
    """The same, without those that are not stored; returned are the others."""
    named: set[BlobId] = set()
    for blob in sorted(blobs):
        if (yield query("touch_blob", user=user, blob=blob)):
            yield query("name_blob", session=session, blob=blob)
            named.add(blob)
    return named


def add_usage(
    user: UserId,
    session: SessionId,
    source: str,
    usages: tuple[Usage, ...],
    *,
    answered: bool = False,
) -> Operation[None]:
    """If the session was `answered`, the last of them says how full its model's window is."""
    last = usages[-1] if usages and answered else None
    for usage in usages:
        values = msgspec.structs.asdict(usage)
        yield query("add_usage", user=user, session=session, source=source, **values)
        yield query(
            "count_usage",
            session=session,
            calls=usage.calls,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost=usage.cost,
            context=usage.input_tokens + usage.output_tokens if usage is last else None,
        )


def add_usage_late(
    user: UserId, session: SessionId, source: str, usages: tuple[Usage, ...]
) -> Operation[None]:
    """The same for a session that was deleted meanwhile: what was used was used. Where its user is
    gone too, nothing of theirs is written any more."""
    if (yield query("session_was_anothers", session=session, user=user)):
        raise NotFound("session", session)
    if (yield query("user_by_id", user=user)):
        yield from add_usage(user, session, source, usages)


def answers(drafts: tuple[Draft, ...]) -> bool:
    return "assistant" in [draft.role for draft in drafts]


def find_message(user: UserId, message: MessageId) -> Operation[Placed | None]:
    return maybe((yield query("find_message", user=user, message=message)), Placed)


def find_live_message(user: UserId, session: SessionId, message: MessageId) -> Operation[Placed]:
    """One of the history as it is now."""
    found = yield from find_message(user, message)
    if found is None or found.session != session or found.gone is not None:
        raise NotFound("message", message)
    return found


def already_written(
    user: UserId, session: SessionId, drafts: tuple[Draft, ...]
) -> Operation[Written | None]:
    """The result of the first call, if these very messages were written before."""
    if not drafts:
        return None
    last = yield from find_message(user, drafts[-1].id)
    if last is None:
        return None
    if last.session != session:
        raise InvalidInput(f"The message id {drafts[-1].id} is taken. Make a new one.")
    return Written(last.revision, last.born, last.position)


def standing(session: SessionId) -> Operation[Written]:
    """Where the session stands, with nothing written."""
    return one((yield query("session_head", session=session)), Written)
