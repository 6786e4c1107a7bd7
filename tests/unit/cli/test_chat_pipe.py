"""One message over a pipe: the answer on one side, everything else on the other."""

import asyncio
import io

import pytest
from rich.console import Console

from roost.cli.chat.commands import Room
from roost.cli.chat.keys import Signals
from roost.cli.chat.pipe import Ends, Transcript, say
from roost.core.errors import Conflict
from roost.core.events import Cursor, Noticed, NoticeDelta, ReasoningDelta, TextDelta, TurnUpdated
from roost.core.ids import TurnId
from roost.runtime.account import Account
from roost.testing import models
from roost.testing.models import ModelServer, call, cut, fail, stall
from tests.engine import eventually
from tests.unit.cli.chatting import (
    TURN,
    added,
    answered,
    attempt,
    called,
    changed,
    ended,
    message,
    rewound,
    streamed,
)


class Pipe:
    """Both ends of it."""

    def __init__(self) -> None:
        self._out = io.StringIO()
        self._notes = io.StringIO()
        notes = Console(file=self._notes, soft_wrap=True, markup=False, highlight=False)
        self.ends = Ends(self._out, notes)
        self.transcript = Transcript(TURN, self.ends)

    @property
    def out(self) -> str:
        return self._out.getvalue()

    @property
    def err(self) -> str:
        return self._notes.getvalue()


@pytest.fixture
def pipe() -> Pipe:
    return Pipe()


def test_answer_is_raw_and_ends_its_line(pipe: Pipe) -> None:
    for event in (
        streamed(TextDelta("**One** ")),
        streamed(TextDelta("two")),
        answered("**One** two"),
    ):
        pipe.transcript.take(event)
    assert (pipe.out, pipe.err) == ("**One** two\n", "")
    assert pipe.transcript.state == "completed"


def test_only_the_answer_is_on_the_output(pipe: Pipe) -> None:
    pipe.transcript.take(streamed(ReasoningDelta("Hm."), NoticeDelta("Trying \x1b[2Jagain.")))
    pipe.transcript.take(called("failed", result="No."))
    pipe.transcript.take(streamed(TextDelta("Not ours."), turn=TurnId("trn_other")))
    pipe.transcript.take(added(message("user", "Hello."), message("note", "Hm.", position=2)))
    assert (pipe.out, pipe.err) == ("", "Trying [2Jagain.\n")


def test_steps_stand_on_lines_of_their_own(pipe: Pipe) -> None:
    pipe.transcript.take(streamed(TextDelta("Looking.")))
    pipe.transcript.take(added(message("assistant", "Looking.", position=2)))
    pipe.transcript.take(answered("Found.", position=4))
    assert pipe.out == "Looking.\nFound.\n"


def test_withdrawn_text_is_told_on_the_other_side(pipe: Pipe) -> None:
    for event in (streamed(TextDelta("One tw")), rewound(), attempt(2), answered("Three")):
        pipe.transcript.take(event)
    assert pipe.out == "One tw\nThree\n"
    assert pipe.err.startswith("The answer broke off and begins again.")


def test_answer_that_a_crash_cut_short_goes_on_where_it_was(pipe: Pipe) -> None:
    kept = message("assistant", "One two", position=2, partial=True)
    for event in (streamed(TextDelta("One tw")), rewound(), added(kept), attempt(2)):
        pipe.transcript.take(event)
    pipe.transcript.take(answered("Three", position=4))
    assert pipe.out == "One two\nThree\n"
    assert pipe.err == ""


def test_turn_that_fails_says_why(pipe: Pipe) -> None:
    pipe.transcript.take(ended("failed", "key-refused: nest does not accept the key."))
    assert pipe.out == ""
    assert pipe.err == (
        "nest does not accept the key. Your message is kept. /continue or /retry.\n"
    )


def test_message_behind_a_question_does_not_wait_for_ever(pipe: Pipe) -> None:
    pipe.transcript.take(changed(TurnUpdated(TurnId("trn_other"), "waiting")))
    assert pipe.transcript.over
    assert pipe.err.endswith("Your message comes after it.\n")


async def said(room: Room, pipe: Pipe, keys: Signals | None = None) -> int:
    keys = keys or Signals(asyncio.Event(), asyncio.Event())
    return await say(room.account, room.session, "hi", keys, pipe.ends)


async def test_exit_code_tells_whether_there_is_an_answer(
    room: Room, server: ModelServer, pipe: Pipe
) -> None:
    server.plan(models.say("Good day."), fail(400), *[models.say("One") + cut()] * 3)
    assert await said(room, pipe) == 0
    assert await said(room, pipe) == 1
    assert pipe.out == "Good day.\n"
    assert await said(room, pipe) == 1
    assert set(pipe.out.splitlines()) == {"Good day.", "One"}


async def test_ctrl_c_stops_the_turn(room: Room, server: ModelServer, pipe: Pipe) -> None:
    server.plan(models.say("One") + stall())
    keys = Signals(asyncio.Event(), asyncio.Event())
    saying = asyncio.create_task(said(room, pipe, keys))

    async def is_said() -> bool:
        return pipe.out == "One"

    await eventually(is_said)
    keys.stop.set()
    assert await saying == 130
    assert pipe.out == "One\n"
    assert pipe.err == "Stopped. What it said is kept.\n"


def test_interruption_is_told_unless_it_goes_on(pipe: Pipe) -> None:
    for event in (ended("interrupted", "crashed: Roost stopped."), ended("running")):
        pipe.transcript.take(event)
    pipe.transcript.conclude()
    assert (pipe.err, pipe.transcript.over) == ("", False)
    pipe.transcript.take(ended("interrupted", "crashed: Roost stopped."))
    pipe.transcript.conclude()
    assert pipe.err == "Roost stopped. Your message is kept. /continue or /retry.\n"


def test_what_is_said_of_the_server_goes_beside_the_answer(pipe: Pipe) -> None:
    for event in (streamed(TextDelta("One")), Noticed(Cursor(1, 1), "It is back.")):
        pipe.transcript.take(event)
    pipe.transcript.take(answered("One two"))
    assert (pipe.out, pipe.err) == ("One two\n", "It is back.\n")


async def test_question_that_nobody_can_answer_here_waits(
    room: Room, account: Account, server: ModelServer, pipe: Pipe
) -> None:
    server.plan(call("approval", {"text": "rm"}))
    assert await said(room, pipe) == 1
    assert pipe.out == ""
    assert pipe.err == ("Go ahead?\n  rm\nThe turn waits for your answer. `roost chat` takes it.\n")
    assert len(await account.decisions.pending()) == 1
    with pytest.raises(Conflict, match="waits for your answer"):
        await said(room, pipe)
    assert not await account.queue(room.session)
