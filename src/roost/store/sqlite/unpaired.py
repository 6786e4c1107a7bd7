"""Tool calls and results that a rescue left without each other: no model takes one alone."""

from collections.abc import Collection, Sequence

import msgspec

from roost.core.amounts import amount
from roost.core.ids import SessionId, ToolCallId, UserId
from roost.core.messages import Message, Part, TextPart, ToolCallPart, ToolResultPart, encode_parts
from roost.store.operations import Operation, Row, Rows, every, one, query
from roost.store.pairs import make_room, stand_in, unanswered
from roost.store.rows import messages_of
from roost.store.writes import Placed

_RESULT_LOST = (
    "The result of this was lost when the store was damaged. Check before doing it again."
)
_CALL_LOST = "What asked for this was lost when the store was damaged. Its result was:"


class _Session(msgspec.Struct, frozen=True, array_like=True):
    id: SessionId
    user: UserId


class _Rewrite(msgspec.Struct, frozen=True, array_like=True):
    epoch: int


class _Call(msgspec.Struct, frozen=True, array_like=True):
    id: ToolCallId


def pair_calls() -> Operation[list[str]]:
    """What was lost of the histories, in words: of the live ones, and of those before they were
    rewritten, the latest first. A rewrite can be taken back."""
    results = requests = given_up = 0
    for session in every((yield query("sessions_to_pair")), _Session):
        history = _readable((yield query("live_messages", session=session.id, after=0)))
        rows = yield query("calls_under_way", session=session.id)
        under_way = {call.id for call in every(rows, _Call)}
        asked = _asked(history)
        results += yield from _answer(session, history, under_way)
        requests += yield from _tell(history, asked)
        given_up += yield from _give_up(session, under_way - asked)
        for rewrite in every((yield query("rewrites_to_pair", session=session.id)), _Rewrite):
            rows = yield query("messages_before", session=session.id, epoch=rewrite.epoch)
            history = _readable(rows)
            results += yield from _answer(session, history, under_way, gone=rewrite.epoch)
            requests += yield from _tell(history, _asked(history))
    found = (
        (results, "what came of {}; with a stand-in for each"),
        (requests, "what asked for {}; what came of it is a note now"),
        (given_up, "what asked for {} under way; it is given up"),
    )
    return [words.format(amount(count, "tool call")) for count, words in found if count]


def _readable(rows: Rows) -> list[Message]:
    return [_message(row) for row in rows]


def _message(row: Row) -> Message:
    """A damaged page can give JSON that is no message: that keeps its place, and says nothing."""
    try:
        (message,) = messages_of([row])
    except (msgspec.MsgspecError, RecursionError):
        id, role, _, *rest = row
        (message,) = messages_of([(id, role, "[]", *rest)])
    return message


def _asked(history: Sequence[Message]) -> set[ToolCallId]:
    return {
        part.call for message in history for part in message.parts if isinstance(part, ToolCallPart)
    }


def _answer(
    session: _Session,
    history: Sequence[Message],
    under_way: Collection[ToolCallId],
    *,
    gone: int | None = None,
) -> Operation[int]:
    """Put an error where a result was lost, as if it had been written with the call, and had left
    the history by the rewrite. What a turn has yet to answer is left to it."""
    count = 0
    for each in reversed(unanswered(history)):
        calls = [call for call in each.calls if call not in under_way]
        if not calls:
            continue
        if not each.is_free:  # as after an import by a Roost that answered none
            yield from make_room(session.id, each.place)
        rows = yield query("find_message", message=each.message.id, user=session.user)
        there = one(rows, Placed)
        message = stand_in(dict.fromkeys(calls, _RESULT_LOST))
        yield query(
            "insert_stand_in",
            message=message.id,
            session=session.id,
            position=each.place,
            revision=there.revision,
            born=there.born,
            gone=gone,
            turn=each.message.turn,
            role=message.role,
            parts=encode_parts(message.parts),
        )
        yield from _end_calls(session, calls)
        count += len(calls)
    return count


def _tell(history: Sequence[Message], asked: Collection[ToolCallId]) -> Operation[int]:
    """Have results that nobody asked for as words: in a note, if their message has no other."""
    count = 0
    for message in history:
        lone = [
            part
            for part in message.parts
            if isinstance(part, ToolResultPart) and part.call not in asked
        ]
        if not lone:
            continue
        kept: list[Part] = [part for part in message.parts if part not in lone]
        told = [part for each in lone for part in (TextPart(_CALL_LOST), *each.content)]
        yield query(
            "rewrite_message",
            message=message.id,
            role=message.role if kept else "note",
            parts=encode_parts((*kept, *told)),
        )
        count += len(lone)
    return count


def _give_up(session: _Session, calls: Collection[ToolCallId]) -> Operation[int]:
    """A turn under way would run them, and answer what nobody asks."""
    if calls:
        yield from _end_calls(session, calls)
        yield query("void_approvals_of", session=session.id, ids=_json(calls))
    return len(calls)


def _end_calls(session: _Session, calls: Collection[ToolCallId]) -> Operation[None]:
    yield query("end_calls", session=session.id, ids=_json(calls))


def _json(calls: Collection[ToolCallId]) -> str:
    return msgspec.json.encode(list(calls)).decode()
