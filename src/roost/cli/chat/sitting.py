"""Sitting in one session: a line is read, its turn is followed, a question is answered."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from roost.cli.chat import commands, words
from roost.cli.chat.commands import ROUTE, Outcome, Room
from roost.cli.chat.feed import Feed
from roost.cli.chat.keys import Signals
from roost.cli.chat.page import Page
from roost.cli.chat.prompt import Prompt, Stopped
from roost.cli.chat.standing import Standing
from roost.core.approvals import Approval, Decision, Keep
from roost.core.errors import RoostError
from roost.core.events import SessionEvent
from roost.core.ids import SessionId, new_turn_id
from roost.core.turns import Turn

_DECISIONS: dict[str, tuple[Decision, Keep]] = {
    "y": ("approved", "once"),
    "yes": ("approved", "once"),
    "session": ("approved", "session"),
    "always": ("approved", "always"),
    "n": ("denied", "once"),
    "no": ("denied", "once"),
}


_SOON = 2.0
"""Seconds after which an interrupted turn that does not go on has ended, and after which a message
that is not taken is mentioned."""
_MOMENT = 0.5
_WAITING = "The message waits for the server. Ctrl-C takes it back."
_NOT_SENT = "Nobody has confirmed the message yet. Sent again as it is, it is the same one."
_ALLOW = "Allow it? yes, session, always or no: "


class Left(Exception):
    """Whoever sat here wants to leave."""


class Sitting:
    def __init__(self, room: Room, feed: Feed, page: Page, prompt: Prompt, keys: Signals) -> None:
        self._room = room
        self._account = room.account
        self._feed = feed
        self._page = page
        self._prompt = prompt
        self._keys = keys
        self._standing = Standing()
        self._unsure = ("", new_turn_id())

    async def run(self) -> SessionId | None:
        """Until another session is wanted, or none."""
        try:
            await self._take()
            while True:
                if self._standing.busy:
                    await self._follow()
                elif (line := await self._read()).strip():
                    outcome = await self._do(line)
                    if outcome.leave or outcome.session is not None:
                        return outcome.session
        except (Left, EOFError):
            return None

    # What is typed.

    async def _read(self) -> str:
        """A line; nothing, if a turn begins meanwhile without one."""
        self._page.make_room()
        line = await self._typed(self._prompt.read(), lambda: self._standing.busy)
        self._keys.stop.clear()  # from here on it is for what this line begins
        return line or ""

    async def _do(self, line: str) -> Outcome:
        try:
            if not commands.is_command(line):
                outcome = await self._send(line)
            else:
                outcome = await commands.run(self._room, line)
        except RoostError as error:
            if not commands.is_command(line):
                self._prompt.offer(line)
            outcome = Outcome(str(error))
        if outcome.turn is not None:
            self._standing.began(outcome.turn)
        if outcome.say:
            self._page.note(outcome.say, dim=False)
        return outcome

    async def _send(self, line: str) -> Outcome:
        """A line that nobody confirmed, sent again as it is, is the same turn: it may be there."""
        said, id = self._unsure
        if said != line:
            self._unsure = said, id = line, new_turn_id()
        sending = asyncio.create_task(
            self._account.send(self._room.session, line, id=id, route=ROUTE)
        )
        try:
            if not await self._sent(sending):
                return self._not_sent(line)
            turn = sending.result()
        finally:
            await _dismiss([sending])
        self._unsure = "", id
        self._page.expect(turn.id)
        return Outcome(turn=turn)

    async def _sent(self, sending: asyncio.Task[Turn]) -> bool:
        """A server that is away is waited for, but not against anyone's will."""
        stop, leave = self._keys
        if not await self._first(sending, stop.wait(), leave.wait(), within=_SOON):
            self._page.note(_WAITING)
            await self._first(sending, stop.wait(), leave.wait())
        # Whoever is that quick stops the turn, not the message, if it is just being taken.
        return await self._first(sending, within=_MOMENT)

    def _not_sent(self, line: str) -> Outcome:
        if self._keys.leave.is_set():
            raise Left
        self._keys.stop.clear()
        self._prompt.offer(line)
        return Outcome(_NOT_SENT)

    # What happens.

    async def _take(self) -> None:
        self._page.take(await self._event())

    async def _event(self) -> SessionEvent:
        event = await self._feed.take()
        if event is None:
            self._page.note("This session was deleted.", dim=False)
            raise Left
        self._standing.take(event)
        return event

    async def _follow(self) -> None:
        """Show what happens until nothing is under way."""
        self._page.begin()
        cancelling: asyncio.Task[None] | None = None
        try:
            while self._standing.busy or await self._may_go_on():
                if (question := self._standing.question) is not None and cancelling is None:
                    cancelling = await self._answer(question)
                    self._page.begin()
                    continue
                await self._happening()
                if self._keys.leave.is_set():
                    raise Left
                if self._keys.stop.is_set():
                    self._keys.stop.clear()
                    if cancelling is not None:
                        raise Left
                    cancelling = asyncio.create_task(self._cancel())
        finally:
            self._page.pause()
            if cancelling is not None:
                await _dismiss([cancelling])

    async def _may_go_on(self) -> bool:
        """Whether something follows on an interruption: a server that was restarted goes on with
        what it was doing."""
        if not self._page.interrupted or self._keys.stop.is_set():
            return False
        await self._first(
            self._feed.ready(), self._keys.stop.wait(), self._keys.leave.wait(), within=_SOON
        )
        return self._feed.is_ready or self._keys.leave.is_set()

    async def _happening(self) -> None:
        """One event, or a signal, or a little time."""
        happened = await self._first(
            self._feed.ready(),
            self._keys.stop.wait(),
            self._keys.leave.wait(),
            within=self._page.patience,
        )
        if not happened:
            self._page.tick()
        elif self._feed.is_ready:
            await self._take()

    async def _cancel(self) -> None:
        """Stop the turn under way, or the one that is about to be."""
        if (turn := self._standing.current) is not None:
            try:
                await self._account.cancel(self._room.session, turn)
            except RoostError as error:
                self._page.note(str(error), dim=False)

    # Questions.

    async def _answer(self, asked: Approval) -> asyncio.Task[None] | None:
        """Put a question, unless someone else answers it first. Ctrl-C stops the turn instead."""
        self._page.pause()
        self._page.question(words.question_lines(asked))
        try:
            text = await self._said(asked)
            if text is not None and asked.kind == "question":
                await self._account.decisions.answer(asked.id, "answered", answer=text, route=ROUTE)
            elif text is not None:
                decision, keep = _DECISIONS[text]
                await self._account.decisions.answer(asked.id, decision, route=ROUTE, keep=keep)
            await self._until_settled(asked)
        except Stopped:
            return asyncio.create_task(self._cancel())
        except RoostError as error:
            self._page.note(str(error), dim=False)
            await self._until_settled(asked)
        return None

    async def _said(self, asked: Approval) -> str | None:
        """A whole answer; None if it is not needed any more."""
        hint = _ALLOW if asked.kind == "approval" else "Your answer: "
        while True:
            text = await self._typed(
                self._prompt.ask(hint), lambda: self._standing.question != asked
            )
            if text is None or (asked.kind == "question" and text.strip()):
                return text
            if asked.kind == "approval" and (said := text.strip().lower()) in _DECISIONS:
                return said

    async def _until_settled(self, asked: Approval) -> None:
        while self._standing.question == asked:
            await self._take()

    # Both at once.

    async def _typed(
        self, typing: Coroutine[object, object, str], over: Callable[[], bool]
    ) -> str | None:
        """What is typed, or None once what happens meanwhile makes it needless."""
        reading = asyncio.create_task(typing)
        try:
            while not over():
                await self._first(reading, self._feed.ready(), self._keys.leave.wait())
                if reading.done():
                    line = reading.result()
                    self._page.typed()
                    return line
                if self._keys.leave.is_set():
                    raise Left
                event = await self._event()
                if over():
                    await _dismiss([reading])
                self._page.take(event)
            return None
        finally:
            await _dismiss([reading])

    async def _first(self, *waits: Awaitable[object], within: float | None = None) -> bool:
        """Wait until one of these is done; False if none is in time. A task among them goes on
        afterwards, the rest is given up."""
        futures = [asyncio.ensure_future(each) for each in waits]
        try:
            done, _ = await asyncio.wait(
                futures, timeout=within, return_when=asyncio.FIRST_COMPLETED
            )
            return bool(done)
        finally:
            await _dismiss([f for f, given in zip(futures, waits, strict=True) if f is not given])


async def _dismiss(futures: Sequence[asyncio.Future[Any]]) -> None:
    for future in futures:
        future.cancel()
    if futures:
        await asyncio.wait(futures)
