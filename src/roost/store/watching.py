"""What those who watch a session read: how it stands, and what changed since."""

from collections.abc import Iterable, Sequence

import msgspec

from roost.core.approvals import Approval
from roost.core.events import (
    ApprovalUpdated,
    AttemptBegan,
    Cursor,
    Deltas,
    Event,
    MessageAdded,
    Recorded,
    Snapshot,
    ToolCallUpdated,
    TurnUpdated,
)
from roost.core.ids import SessionId, UserId
from roost.core.messages import Message, ToolCallPart, ToolResultPart
from roost.core.sessions import Session
from roost.core.turns import ToolCall, Turn
from roost.store.approvals import approvals_of
from roost.store.operations import Operation, Rows, every, maybe, query
from roost.store.rows import TurnRow, messages_of, turn_of, turns_of
from roost.store.sessions import load_session
from roost.store.streams import deltas_of
from roost.store.tool_calls import calls_of


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a session after a revision, and what the events name, as it is now. Where
    events were already swept, there are very many, or the reader comes from a future that was not
    kept (a backup was restored), `complete` is false: read the session anew."""

    session: Session
    complete: bool
    recorded: tuple[Recorded, ...]
    messages: tuple[Message, ...] = ()
    turns: tuple[Turn, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    approvals: tuple[Approval, ...] = ()


PAGE_BYTES = 1 << 20
"""A page ends with the message that makes it as long, however few they are."""
CATCH_UP = 500
"""The most revisions that a reader is told of one by one. Who was away for longer reads the session
anew, which is less."""
_END = 1 << 62


class Page(msgspec.Struct, frozen=True):
    """Messages, with the turns they belong to, the tool calls they ask for or answer, and how what
    was asked about these was settled; `older` if there are more before them."""

    messages: tuple[Message, ...]
    turns: tuple[Turn, ...]
    calls: tuple[ToolCall, ...]
    approvals: tuple[Approval, ...]
    older: bool


def newest(
    session: SessionId, limit: int, *, before: int | None = None
) -> Operation[tuple[Message, ...]]:
    """The last messages, or the last ones before a position, oldest first."""
    end = _END if before is None else before
    rows = yield query(
        "page_of_messages", session=session, before=end, limit=limit, bytes=PAGE_BYTES
    )
    return messages_of(rows)[::-1]


def newest_page(session: SessionId, limit: int, *, before: int | None = None) -> Operation[Page]:
    messages = yield from newest(session, limit, before=before)
    older = yield query("is_message_before", session=session, before=_first(messages))
    return (yield from _page_of(session, messages, older=bool(older)))


def replaced_page(
    session: SessionId, epoch: int, limit: int, *, before: int | None = None
) -> Operation[Page]:
    """As `newest_page`, of what left the history when an epoch was opened."""
    end = _END if before is None else before
    rows = yield query(
        "page_of_replaced", session=session, epoch=epoch, before=end, limit=limit, bytes=PAGE_BYTES
    )
    messages = messages_of(rows)[::-1]
    first = _first(messages)
    older = yield query("is_replaced_before", session=session, epoch=epoch, before=first)
    return (yield from _page_of(session, messages, older=bool(older)))


def _first(messages: tuple[Message, ...]) -> int:
    return messages[0].position if messages else 0


def _page_of(session: SessionId, messages: tuple[Message, ...], *, older: bool) -> Operation[Page]:
    asked = _calls_in(messages)
    turns = yield from _by_id("turns_by_id", session, _turns_in(messages))
    calls = yield from _by_id("tool_calls_by_id", session, asked)
    settled = yield from _by_id("settled_approvals", session, asked)
    return Page(
        messages,
        tuple(turns_of(turns)),
        tuple(calls_of(calls)),
        tuple(approvals_of(settled)),
        older,
    )


def _turns_in(messages: Iterable[Message]) -> set[str]:
    return {message.turn for message in messages if message.turn is not None}


def _calls_in(messages: Iterable[Message]) -> set[str]:
    parts = [part for message in messages for part in message.parts]
    return {part.call for part in parts if isinstance(part, ToolCallPart | ToolResultPart)}


def take_snapshot(user: UserId, session: SessionId, limit: int) -> Operation[Snapshot]:
    found = yield from load_session(user, session)
    page = yield from newest_page(session, limit)
    queue = yield query("list_queue", user=user, session=session)
    approvals = yield query("pending_approvals_of", session=session)
    row = maybe((yield query("live_turn_row", session=session)), TurnRow)
    turn = None if row is None else turn_of(row)
    calls: Sequence[ToolCall] = ()
    deltas: tuple[Deltas, ...] = ()
    if turn is not None:
        calls = calls_of((yield query("list_tool_calls", user=user, turn=turn.id)))
        deltas = tuple(deltas_of((yield query("stream_deltas", user=user, turn=turn.id))))
    return Snapshot(
        cursor=_cursor(found, turn, deltas),
        session=found,
        messages=page.messages,
        older=page.older,
        queue=tuple(turns_of(queue)),
        turn=turn,
        turns=_with(page.turns, turn),
        calls=tuple(calls),
        past_calls=tuple([call for call in page.calls if turn is None or call.turn != turn.id]),
        approvals=tuple(approvals_of(approvals)),
        past_approvals=page.approvals,
        deltas=deltas,
    )


def _with(turns: tuple[Turn, ...], turn: Turn | None) -> tuple[Turn, ...]:
    """The one under way too, should its messages fill more than a page."""
    return turns if turn is None or turn in turns else (*turns, turn)


def _cursor(session: Session, turn: Turn | None, deltas: tuple[Deltas, ...]) -> Cursor:
    if turn is None or turn.state != "running":
        return Cursor(session.epoch, session.revision)
    stored = deltas[-1].last_seq if deltas else 0
    return Cursor(session.epoch, session.revision, turn.id, turn.attempt, stored)


class _EventsRow(msgspec.Struct, frozen=True, array_like=True):
    revision: int
    at: int
    body: str


_decode_events = msgspec.json.Decoder(tuple[Event, ...]).decode


def changes_since(user: UserId, session: SessionId, revision: int) -> Operation[Changes]:
    found = yield from load_session(user, session)
    if not 0 <= found.revision - revision <= CATCH_UP:
        return Changes(session=found, complete=False, recorded=())
    rows = every((yield query("events_since", session=session, revision=revision)), _EventsRow)
    recorded = tuple([Recorded(row.revision, row.at, _decode_events(row.body)) for row in rows])
    named = _Named([event for each in recorded for event in each.events])
    return Changes(
        session=found,
        complete=len(recorded) == found.revision - revision,
        recorded=recorded,
        messages=messages_of((yield from _by_id("messages_by_id", session, named.messages))),
        turns=tuple(turns_of((yield from _by_id("turns_by_id", session, named.turns)))),
        calls=tuple(calls_of((yield from _by_id("tool_calls_by_id", session, named.calls)))),
        approvals=tuple(
            approvals_of((yield from _by_id("approvals_by_id", session, named.approvals)))
        ),
    )


class _Named:
    """The ids that events name, each once."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.messages: set[str] = set()
        self.turns: set[str] = set()
        self.calls: set[str] = set()
        self.approvals: set[str] = set()
        for event in events:
            match event:
                case MessageAdded():
                    self.messages.add(event.message)
                case TurnUpdated() | AttemptBegan():
                    self.turns.add(event.turn)
                case ToolCallUpdated():
                    self.calls.add(event.call)
                case ApprovalUpdated():
                    self.approvals.add(event.approval)
                case _:
                    pass


def _by_id(statement: str, session: SessionId, ids: set[str]) -> Operation[Rows]:
    if not ids:
        return []
    named = msgspec.json.encode(sorted(ids)).decode()
    return (yield query(statement, session=session, ids=named))
