"""Sitting in a session: lines, turns, Ctrl-C and questions, on a real account."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from roost.cli.chat.commands import Room
from roost.cli.chat.feed import Feed
from roost.cli.chat.keys import Signals
from roost.cli.chat.prompt import Stopped
from roost.cli.chat.sitting import Sitting
from roost.core.events import Changed
from roost.core.ids import SessionId
from roost.core.messages import plain_text
from roost.runtime.account import Account
from roost.testing.models import ModelServer, call, fail, say, stall
from tests.engine import eventually
from tests.unit.cli.chatting import Paper
from tests.unit.cli.tools import Stubborn

DEADLINE = 60


class Person:
    """Types what a test says, when there is a prompt. `asked` are the questions that were put."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.offered = ""
        self.given_up = 0
        self._lines: deque[str | Exception] = deque()
        self._changed = asyncio.Condition()
        self._waiting = False

    async def types(self, *lines: str | Exception) -> None:
        async with self._changed:
            self._lines.extend(lines)
            self._changed.notify_all()

    async def idle(self) -> None:
        """Until there is a prompt and nothing left to type."""
        async with asyncio.timeout(DEADLINE), self._changed:
            await self._changed.wait_for(lambda: self._waiting and not self._lines)

    async def gives_up(self) -> None:
        """Until a prompt was taken away."""
        async with asyncio.timeout(DEADLINE), self._changed:
            await self._changed.wait_for(lambda: self.given_up)

    async def read(self) -> str:
        async with self._changed:
            self._waiting = True
            self._changed.notify_all()
            try:
                await self._changed.wait_for(lambda: self._lines)
            except asyncio.CancelledError:
                self.given_up += 1
                self._changed.notify_all()
                raise
            finally:
                self._waiting = False
            typed = self._lines.popleft()
        if isinstance(typed, Exception):
            raise typed
        return typed

    async def ask(self, question: str) -> str:
        self.asked.append(question)
        return await self.read()

    def offer(self, text: str) -> None:
        self.offered = text


class Seat:
    def __init__(self, room: Room) -> None:
        self.room = room
        self.paper = Paper()
        self.person = Person()
        self.keys = Signals(asyncio.Event(), asyncio.Event())
        self.left: asyncio.Task[SessionId | None] | None = None

    @property
    def shown(self) -> list[str]:
        return re.split("\n{2,}", self.paper.shown)

    async def types(self, *lines: str | Exception) -> list[str]:
        """What stands there once there is nothing more to do."""
        await self.person.types(*lines)
        await self.person.idle()
        return self.shown

    async def leaves(self, *lines: str) -> SessionId | None:
        """Where to: another session, or nowhere."""
        await self.person.types(*lines)
        assert self.left is not None
        async with asyncio.timeout(DEADLINE):
            return await self.left

    async def history(self) -> list[str]:
        return [plain_text(m.parts) for m in await self.room.account.messages(self.room.session)]


@pytest.fixture
async def seat(room: Room) -> AsyncGenerator[Seat]:
    async with taken(room) as seat:
        yield seat


@asynccontextmanager
async def taken(room: Room) -> AsyncGenerator[Seat]:
    seat = Seat(room)
    async with room.account.watch(room.session) as events:
        feed = Feed(events)
        sitting = Sitting(room, feed, seat.paper.page, seat.person, seat.keys)
        seat.left = asyncio.create_task(sitting.run())
        try:
            yield seat
        finally:
            seat.left.cancel()
            await asyncio.wait([seat.left])
            await feed.close()


async def test_lines_are_answered_one_after_the_other(seat: Seat, server: ModelServer) -> None:
    server.plan(say("Good **day**."), say("Well."))
    assert await seat.types("hi", "how are you?") == ["Good day.", "Well."]
    assert await seat.history() == ["hi", "Good **day**.", "how are you?", "Well."]


async def test_empty_line_is_nothing(seat: Seat, server: ModelServer) -> None:
    assert await seat.types("", "  ") == [""]
    assert not server.requests


async def test_end_of_the_input_leaves(seat: Seat) -> None:
    await seat.person.types(EOFError())
    assert await seat.leaves() is None


async def test_command_that_fails_says_why_and_goes_on(seat: Seat) -> None:
    shown = await seat.types("/undo")
    assert shown == ["Nothing has been said in this session yet."]


async def test_another_session_is_where_to_go_on(seat: Seat) -> None:
    await seat.types("hi")
    opened = await seat.leaves("/new")
    assert opened not in (None, seat.room.session)


async def test_failed_turn_can_be_retried_at_once(seat: Seat, server: ModelServer) -> None:
    server.plan(fail(400), say("Now."))
    failed, *_ = await seat.types("hi")
    assert failed.startswith("nest refused the request")
    assert failed.replace("\n", " ").endswith("Your message is kept. /continue or /retry.")
    assert (await seat.types("/retry"))[-2:] == ["> hi", "Now."]
    assert await seat.history() == ["hi", "Now."]


# Ctrl-C.


async def test_ctrl_c_stops_the_turn_and_keeps_what_it_said(
    seat: Seat, server: ModelServer
) -> None:
    server.plan(say("One two") + stall(), say("Fine."))
    await seat.person.types("count")

    async def is_said() -> bool:
        return "One two" in seat.shown

    await eventually(is_said)
    seat.keys.stop.set()
    await seat.person.idle()
    assert seat.shown == ["One two", "Stopped. What it said is kept."]
    assert await seat.types("thanks") == ["One two", "Stopped. What it said is kept.", "Fine."]


async def test_ctrl_c_at_once_stops_the_turn_too(seat: Seat, server: ModelServer) -> None:
    """Whether it waits yet, is just being taken up, or runs."""
    server.otherwise(stall())
    for _ in range(10):
        async with seat.room.account.watch(seat.room.session) as events:
            await seat.person.types("count")
            async for event in events:
                if isinstance(event, Changed):
                    break
        seat.keys.stop.set()
        await seat.person.idle()
    assert len(seat.shown) == 10
    assert all(line.startswith("Stopped") for line in seat.shown)


async def test_second_ctrl_c_leaves(seat: Seat, server: ModelServer, stubborn: Stubborn) -> None:
    server.plan(call("stubborn"))
    await seat.person.types("go")
    await asyncio.wait_for(stubborn.running.wait(), DEADLINE)
    seat.keys.stop.set()
    await asyncio.wait_for(stubborn.stopping.wait(), DEADLINE)
    seat.keys.stop.set()
    assert await seat.leaves() is None
    stubborn.may_stop.set()


async def test_terminal_that_is_gone_ends_the_sitting_and_not_the_turn(
    seat: Seat, server: ModelServer
) -> None:
    server.plan(say("One") + stall() + say(" two"))
    await seat.person.types("count")
    await (await server.request(0)).stalled()
    seat.keys.leave.set()
    assert await seat.leaves() is None
    async with seat.room.account.watch(seat.room.session) as events:
        server.release()
        async for _ in events:
            if await seat.history() == ["count", "One two"]:
                break


# What begins elsewhere.


async def test_turn_from_elsewhere_takes_the_place_of_the_prompt(
    seat: Seat, account: Account, server: ModelServer
) -> None:
    await seat.person.idle()
    server.plan(say("Hello, web."))
    await account.send(seat.room.session, "from the web")
    await seat.person.gives_up()
    await seat.person.idle()
    assert seat.shown == ["> from the web", "Hello, web."]


async def test_title_that_arrives_leaves_the_prompt_alone(seat: Seat) -> None:
    await seat.types("hi")
    given_up = seat.person.given_up
    await seat.room.account.end(seat.room.session)
    assert await seat.types("/usage")
    assert seat.person.given_up == given_up


async def test_turn_that_is_under_way_is_followed_from_where_it_is(
    room: Room, server: ModelServer
) -> None:
    server.plan(say("One two") + stall() + say(" three"))
    await room.account.send(room.session, "count")
    await (await server.request(0)).stalled()
    async with taken(room) as seat:
        server.release()
        await seat.person.idle()
        assert seat.shown == ["One two three"]


# Questions.


@pytest.mark.parametrize(
    ("answer", "outcome"), [("yes", "approved None"), ("n", "Not run: the user denied it.")]
)
async def test_approval_is_asked_for_and_holds(
    seat: Seat, server: ModelServer, answer: str, outcome: str
) -> None:
    server.plan(call("approval", {"text": "rm \x1b[2J-r nest"}), say("So be it."))
    shown = await seat.types("clean up", "perhaps", answer)
    assert shown[0] == "Go ahead?\n  rm [2J-r nest"
    assert shown[-1] == "So be it."
    assert seat.person.asked == ["Allow it? yes, session, always or no: "] * 2
    assert [*server.requests[1].results.values()] == [outcome]


async def test_question_takes_any_words(seat: Seat, server: ModelServer) -> None:
    server.plan(call("question", {"text": "Which nest?"}), say("Thanks."))
    shown = await seat.types("clean up", "", 'the "old" one')
    assert shown[0] == "Which nest?"
    assert [*server.requests[1].results.values()] == ['answered the "old" one']


async def test_ctrl_c_at_a_question_stops_the_turn(seat: Seat, server: ModelServer) -> None:
    server.plan(call("approval", {"text": "rm"}))
    shown = await seat.types("clean up", Stopped())
    assert shown[-2:] == ["  Approval rm  stopped", "Stopped. Your message is kept."]


async def test_question_answered_elsewhere_is_not_asked_any_more(
    seat: Seat, account: Account, server: ModelServer
) -> None:
    server.plan(call("approval", {"text": "rm"}), say("Done."))
    await seat.types("clean up")
    (asked,) = await account.decisions.pending()
    await account.decisions.answer(asked.id, "approved", route="web")
    await (await server.request(1)).closed()
    await seat.person.idle()
    assert seat.shown[-1] == "Done."
