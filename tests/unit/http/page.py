"""What a page makes of the events it is sent: it minds their order, and comes back where it was."""

import msgspec

from roost.core.events import (
    AttemptBegan,
    Cursor,
    Delta,
    HistoryRewritten,
    Noticed,
    ReasoningDelta,
    Rewound,
    Streamed,
    TextDelta,
    TurnUpdated,
)
from roost.core.ids import MessageId, SessionId, TurnId
from roost.core.turns import ENDED, TurnState
from roost.http.views import ChangedView, EventView, MessageView, SnapshotView
from tests.unit.http.served import Client, Told


class Page:
    """`last` is the id of the last event that came whole."""

    def __init__(self) -> None:
        self.last: str | None = None
        self.cursor = Cursor(0, 0)
        self.snapshots = 0
        self.withdrawn = 0
        self.durable: list[ChangedView] = []
        self.messages: dict[MessageId, MessageView] = {}
        self.states: dict[TurnId, TurnState] = {}
        self.title: str | None = None
        self.streaming: tuple[TurnId, int] | None = None
        self.text = ""
        self.seq = 0
        self.rewritten = False
        self.ended: str | None = None
        self._past: set[TurnId] = set()

    def take(self, told: Told) -> None:
        if told.kind == "end":
            self.ended = msgspec.json.decode(told.data)["reason"]
            return
        view = told.view
        assert told.kind == view.__struct_config__.tag
        self._take(view)
        assert told.cursor == view.cursor
        self.cursor, self.last = view.cursor, told.id

    def _take(self, view: EventView) -> None:
        match view:
            case SnapshotView():
                self._anew(view)
            case ChangedView():
                self._change(view)
            case Streamed():
                assert (view.cursor.turn, view.cursor.attempt) == self.streaming
                assert view.deltas.first_seq == self.seq + 1, "a gap, or a repeat"
                self._show(view.deltas.last_seq, view.deltas.deltas)
            case Rewound():
                assert (view.turn, view.attempt) == self.streaming
                assert self.seq, "nothing was shown that could be withdrawn"
                self.withdrawn += 1
                self._stop()
            case Noticed():
                pass

    def _anew(self, view: SnapshotView) -> None:
        self.snapshots += 1
        known = set(self.states)
        self.messages = {message.id: message for message in view.messages}
        self.states = {turn.id: turn.state for turn in view.queue}
        self.title = view.session.title
        self.rewritten = False
        self._stop()
        if view.turn is not None:
            self.states[view.turn.id] = view.turn.state
        if view.cursor.turn is not None:
            self.streaming = (view.cursor.turn, view.cursor.attempt)
        self._past |= known - set(self.states)
        for deltas in view.deltas:
            assert deltas.first_seq == self.seq + 1
            self._show(deltas.last_seq, deltas.deltas)

    def _change(self, view: ChangedView) -> None:
        assert view.cursor.revision == self.cursor.revision + 1, "a gap, or a repeat"
        self.durable.append(view)
        self.messages |= {message.id: message for message in view.messages}
        if view.session is not None:
            self.title = view.session.title
        for one in view.events:
            if isinstance(one, TurnUpdated):
                self.states[one.turn] = one.state
                if self.streaming and one.turn == self.streaming[0] and one.state != "running":
                    self._close(view)
            elif isinstance(one, AttemptBegan):
                self._close(view)
                self.streaming = (one.turn, one.attempt)
            elif isinstance(one, HistoryRewritten):
                self.rewritten = True

    def _close(self, view: ChangedView) -> None:
        """What was shown has a message in its place, or was withdrawn before."""
        assert not self.seq or any(message.role != "user" for message in view.messages)
        self._stop()

    def _show(self, last_seq: int, deltas: tuple[Delta, ...]) -> None:
        spoken = [each.text for each in deltas if isinstance(each, TextDelta | ReasoningDelta)]
        self.text += "".join(spoken)
        self.seq = last_seq

    def _stop(self) -> None:
        self.streaming = None
        self.text = ""
        self.seq = 0

    def has_ended(self, *turns: TurnId) -> bool:
        """For good: one that was interrupted goes on."""
        ended = ENDED - {"interrupted"}
        return all(turn in self._past or self.states.get(turn) in ended for turn in turns)

    # With a client.

    async def follow_to_the_end(self, client: Client, session: SessionId, *turns: TurnId) -> None:
        """Read on, from where it was, until these turns have ended; a snapshot leaves out those
        that ended before."""
        async with client.watch(session, after=self.last) as events:
            if self.last is None:
                self.take(await anext(events))
                self._past |= set(turns) - set(self.states)
            while not self.has_ended(*turns):
                self.take(await anext(events))

    async def follow_until_said(self, client: Client, session: SessionId, words: str) -> None:
        async with client.watch(session, after=self.last) as events:
            while words not in self.text:
                self.take(await anext(events))

    async def check_equals_what_is_stored(self, client: Client, session: SessionId) -> None:
        """And nothing provisional is left."""
        assert self.text == ""
        stored = await stored_messages(client, session)
        assert list(self.messages.values()) == stored


async def stored_messages(client: Client, session: SessionId) -> list[MessageView]:
    page = await client.get(f"/api/sessions/{session}/messages?limit=200")
    return msgspec.convert(page["messages"], list[MessageView])
