"""One message in, its answer out: what `echo hi | roost chat` does."""

import asyncio
from typing import NamedTuple, TextIO

from rich.console import Console

from roost.cli.ask import harmless
from roost.cli.chat import words
from roost.cli.chat.commands import ROUTE
from roost.cli.chat.feed import Feed
from roost.cli.chat.keys import Signals
from roost.cli.ports import Account
from roost.cli.started import as_started
from roost.cli.terminal import let_go
from roost.core.errors import Conflict
from roost.core.events import (
    AttemptBegan,
    Changed,
    Noticed,
    NoticeDelta,
    Rewound,
    SessionEvent,
    Snapshot,
    Streamed,
    TextDelta,
    TurnUpdated,
)
from roost.core.ids import SessionId, TurnId
from roost.core.turns import ENDED, TurnState

INTERRUPTED = 130
_SOON = 2.0
"""Seconds after which an interrupted turn that does not go on has ended."""
_ABANDONED = "The answer broke off and begins again. What was printed so far is not part of it."

_PARKED = (
    "The session waits for your answer to a question. `roost chat` in a terminal asks it; --new"
    " opens another session."
)


class Ends(NamedTuple):
    """Where the answer goes, and where everything else."""

    out: TextIO
    notes: Console


class Transcript:
    """The text of one turn's answer, as it comes, and what is to be said beside it."""

    def __init__(self, turn: TurnId, ends: Ends) -> None:
        self.state: TurnState = "queued"
        self.blocked = False
        self.turn = turn
        self._out, self._notes = ends
        self._last = "\n"
        self._shown: list[str] = []
        self._said = 0
        self._seen = 0
        self._broke_off = False
        self._whole = False
        self._end = ""

    @property
    def over(self) -> bool:
        return self.blocked or self.state in ENDED or self.state == "waiting"

    def take(self, event: SessionEvent) -> None:
        if isinstance(event, Streamed) and event.cursor.turn == self.turn:
            self._begin_anew()
            for delta in event.deltas.deltas:
                if isinstance(delta, TextDelta):
                    self._write(delta.text)
                elif isinstance(delta, NoticeDelta):
                    self._notes.print(harmless(delta.text), style="dim")
        elif isinstance(event, Rewound) and event.turn == self.turn:
            self._broke_off = True
        elif isinstance(event, Changed | Snapshot):
            self._see(event)
        elif isinstance(event, Noticed):
            if self._out.isatty():  # elsewhere the answer goes on as if nothing had been
                self.close()
            self._notes.print(harmless(event.text), style="dim")

    def close(self) -> None:
        """The end of its line, also where the answer breaks off."""
        if self._last != "\n":
            self._put("\n")

    def _see(self, event: Changed | Snapshot) -> None:
        for message in event.messages:
            ours = message.turn == self.turn and message.role == "assistant"
            if ours and message.position > self._seen:
                self._seen = message.position
                self._settle(words.plain(message.parts))
                self._whole = not message.partial
        if isinstance(event, Snapshot):
            live = (event.turn, *event.queue)
            if not any(turn is not None and turn.id == self.turn for turn in live):
                # Its end was among the events that can't be told any more.
                self._move(TurnUpdated(self.turn, "completed" if self._whole else "failed"))
            return
        for approval in event.approvals:
            if approval.turn == self.turn and approval.state == "pending":
                self.close()
                for line in words.question_lines(approval):
                    self._notes.print(line)
        for each in event.events:
            if isinstance(each, AttemptBegan) and each.turn == self.turn:
                self._begin_anew()
            elif isinstance(each, TurnUpdated) and each.turn == self.turn:
                self._move(each)
            elif isinstance(each, TurnUpdated) and each.state == "waiting":
                # An earlier turn, which went on by itself.
                self.blocked = True
                self._notes.print(as_started(f"{_PARKED} Your message comes after it."))

    def _move(self, event: TurnUpdated) -> None:
        self.state, self._end = event.state, ""
        if event.state not in ENDED and event.state != "waiting":
            return
        self._begin_anew()
        self.close()
        if event.state == "waiting":
            self._notes.print(as_started("The turn waits for your answer. `roost chat` takes it."))
            return
        self._end = words.turn_end(event.state, event.reason, self._said)
        if event.state != "interrupted":
            self.conclude()

    def conclude(self) -> None:
        """Say how it ended. What was interrupted may go on by itself, and has not ended then."""
        if self._end:
            self._notes.print(self._end)
        self._end = ""

    def _settle(self, text: str) -> None:
        """The message that takes the place of what was streamed; mostly it says the same."""
        shown = "".join(self._shown)
        if text.startswith(shown):
            self._write(text[len(shown) :])
        else:
            self._withdraw()
            self._write(text)
        self._shown, self._broke_off = [], False
        self._said += len(text.split())

    def _begin_anew(self) -> None:
        """Of an answer that a crash cut short there is a message, and it goes on from there. What
        has none is over."""
        if self._broke_off:
            self._withdraw()

    def _withdraw(self) -> None:
        if self._shown:
            self.close()
            self._notes.print(_ABANDONED, style="dim")
        self._shown, self._broke_off = [], False

    def _write(self, text: str) -> None:
        if not text:
            return
        if not self._shown:
            self.close()  # another step of the same turn
        self._shown.append(text)
        self._put(harmless(text) if self._out.isatty() else text)

    def _put(self, text: str) -> None:
        self._last = text[-1]
        self._out.write(text)
        self._out.flush()


async def say(account: Account, session: SessionId, message: str, keys: Signals, ends: Ends) -> int:
    """Send a message and print its answer. The exit code is 1 if there is no whole answer."""
    async with account.watch(session) as events:
        feed = Feed(events)
        try:
            await _refuse_if_parked(feed)
            turn = await account.send(session, message, route=ROUTE)
            transcript = Transcript(turn.id, ends)
            try:
                return await _follow(account, session, feed, transcript, keys)
            except BrokenPipeError:
                let_go(ends.out)  # whoever read the answer has enough
                await account.cancel(session)
                return 0
        finally:
            await feed.close()


async def _refuse_if_parked(feed: Feed) -> None:
    """Behind a question that nobody can answer here, a message would wait for ever."""
    first = await feed.take()
    if isinstance(first, Snapshot) and first.turn is not None and first.turn.state == "waiting":
        raise Conflict(_PARKED)


async def _follow(
    account: Account, session: SessionId, feed: Feed, transcript: Transcript, keys: Signals
) -> int:
    stopping = asyncio.create_task(_stop(account, session, transcript.turn, keys))
    try:
        while not transcript.over or await _may_go_on(feed, transcript):
            event = await feed.take()
            if event is None:
                break
            transcript.take(event)
        transcript.conclude()
        if transcript.state in ("cancelled", "removed"):
            return INTERRUPTED
        return 0 if transcript.state == "completed" else 1
    finally:
        stopping.cancel()
        await asyncio.wait([stopping])


async def _may_go_on(feed: Feed, transcript: Transcript) -> bool:
    """Whether something follows on an interruption: a server that was restarted goes on with what
    it was doing."""
    if transcript.state != "interrupted":
        return False
    done, _ = await asyncio.wait([waiting := asyncio.ensure_future(feed.ready())], timeout=_SOON)
    waiting.cancel()
    return bool(done)


async def _stop(account: Account, session: SessionId, turn: TurnId, keys: Signals) -> None:
    """Ctrl-C stops the turn, and the stopped turn ends the program."""
    waits = [asyncio.create_task(each.wait()) for each in keys]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    await account.cancel(session, turn)
