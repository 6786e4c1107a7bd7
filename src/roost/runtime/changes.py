"""What the store recorded of a session, as the events its subscribers get."""

from typing import TypeVar

from roost.core.events import (
    ApprovalUpdated,
    AttemptBegan,
    Changed,
    Cursor,
    Event,
    HistoryRewritten,
    MessageAdded,
    Recorded,
    SessionUpdated,
    ToolCallUpdated,
    TurnUpdated,
)
from roost.store.watching import Changes

K = TypeVar("K")
V = TypeVar("V")


def changed(changes: Changes) -> list[Changed]:
    """One per revision, oldest first, each with what its events name. The cursors place them among
    the durable events only: where a subscriber is in an attempt is its own affair."""
    named = _Named(changes)
    epoch = changes.session.epoch
    newest_first: list[Changed] = []
    for recorded in reversed(changes.recorded):
        newest_first.append(named.by(recorded, Cursor(epoch, recorded.revision)))
        for event in recorded.events:
            if isinstance(event, HistoryRewritten):
                epoch = event.epoch - 1
    return newest_first[::-1]


class _Named:
    def __init__(self, changes: Changes) -> None:
        self._session = changes.session
        self._messages = {message.id: message for message in changes.messages}
        self._turns = {turn.id: turn for turn in changes.turns}
        self._calls = {call.call: call for call in changes.calls}
        self._approvals = {approval.id: approval for approval in changes.approvals}

    def by(self, recorded: Recorded, cursor: Cursor) -> Changed:
        events = recorded.events
        messages = [e.message for e in events if isinstance(e, MessageAdded)]
        turns = [e.turn for e in events if isinstance(e, TurnUpdated | AttemptBegan)]
        calls = [e.call for e in events if isinstance(e, ToolCallUpdated)]
        approvals = [e.approval for e in events if isinstance(e, ApprovalUpdated)]
        return Changed(
            cursor=cursor,
            at=recorded.at,
            events=events,
            messages=_found(self._messages, messages),
            turns=_found(self._turns, turns),
            calls=_found(self._calls, calls),
            approvals=_found(self._approvals, approvals),
            session=self._session if any(map(_shows, events)) else None,
        )


def _found(known: dict[K, V], names: list[K]) -> tuple[V, ...]:
    """Each once, as far as it is still there."""
    return tuple([known[name] for name in dict.fromkeys(names) if name in known])


def _shows(event: Event) -> bool:
    """Whether it changes what is shown of the session itself: its title, its state, how full its
    model's window is."""
    return isinstance(event, SessionUpdated | TurnUpdated | AttemptBegan | HistoryRewritten)


def epoch_before(changes: Changes) -> int:
    """The epoch that a reader of these changes must have been in."""
    rewrites = [
        event.epoch
        for recorded in changes.recorded
        for event in recorded.events
        if isinstance(event, HistoryRewritten)
    ]
    return rewrites[0] - 1 if rewrites else changes.session.epoch


def closes(change: Changed, cursor: Cursor) -> bool:
    """Whether the attempt that a reader is in streams no more."""
    return any(_closes(event, cursor) for event in change.events) if cursor.turn else False


def _closes(event: Event, cursor: Cursor) -> bool:
    if isinstance(event, AttemptBegan):
        return (event.turn, event.attempt) != (cursor.turn, cursor.attempt)
    return isinstance(event, TurnUpdated) and event.turn == cursor.turn and event.state != "running"


def keeps(change: Changed, cursor: Cursor) -> bool:
    """Whether a message takes the place of what the reader's attempt streamed."""
    return any(m.turn == cursor.turn and m.role != "user" for m in change.messages)


def after(change: Changed, cursor: Cursor) -> Cursor:
    """Where a reader is once it was told a change."""
    epoch, revision = change.cursor.epoch, change.cursor.revision
    for event in reversed(change.events):
        if isinstance(event, AttemptBegan):
            return Cursor(epoch, revision, event.turn, event.attempt)
    if cursor.turn is None or closes(change, cursor):
        return change.cursor
    return Cursor(epoch, revision, cursor.turn, cursor.attempt, cursor.seq)
