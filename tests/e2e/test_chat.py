"""`roost chat` in processes of its own, over a pipe and in a real terminal."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from roost.testing.models import (
    ModelRequest,
    ModelServer,
    Reply,
    echo,
    fail,
    say,
    stall,
    think,
)
from tests.e2e import command
from tests.e2e.chat_terminal import ALT_ENTER, CTRL_C, CTRL_D, ENTER, terminal
from tests.e2e.command import Roost

Answers = dict[str, Reply | Callable[[ModelRequest], Reply]]


@pytest.fixture
def answers() -> Answers:
    """What is answered to messages that end like this."""
    return {}


@pytest.fixture
async def server(answers: Answers) -> AsyncGenerator[ModelServer]:
    def answer(request: ModelRequest) -> Reply:
        if b"Give this conversation a title" in request.body:
            return say("Of herons")
        for words, reply in answers.items():
            if request.last_text.endswith(words):
                return reply if isinstance(reply, Reply) else reply(request)
        return echo()

    async with ModelServer(otherwise=answer) as server:
        yield server


@pytest.fixture
def roost(roost: Roost, server: ModelServer) -> Roost:
    folder = roost.home / ".config" / "roost"
    folder.mkdir(parents=True)
    (folder / "roost.toml").write_text(
        "[models]\ndefault = 'nest/heron'\n[memory]\nprovider = 'none'\n"
        f"[providers.nest]\nbase_url = {server.openai_url!r}\nmodels = ['heron', 'owl']\n"
    )
    return roost


def data(roost: Roost) -> Path:
    return roost.home / ".local" / "share" / "roost"


def asked(server: ModelServer) -> list[ModelRequest]:
    """The requests that are part of a conversation."""
    return [each for each in server.requests if b"Give this conversation" not in each.body]


# Over a pipe.


async def test_pipe_goes_on_with_the_session_of_the_last_time(
    roost: Roost, server: ModelServer, answers: Answers
) -> None:
    answers |= {"Good morning.": say("Good **day**."), "And now?": say("Night.\n")}
    assert await roost("chat", typed="Good morning.\n") == (0, "Good **day**.\n", "")
    assert await roost("chat", "And now?") == (0, "Night.\n", "")
    first, second = [request.body.decode() for request in asked(server)]
    assert "And now?" not in first
    assert all(words in second for words in ("Good morning.", "Good **day**.", "And now?"))


async def test_new_session_knows_nothing_of_the_last(roost: Roost, server: ModelServer) -> None:
    await roost("chat", "First words.")
    await roost("chat", "Second words.", "--new", "--model", "owl")
    last = asked(server)[-1]
    assert "First words." not in last.body.decode()
    assert last.model == "owl"
    assert (await roost("chat", "x", "--new", "--session", "ses_1")).code == 2


async def test_owner_who_is_shut_out_is_told_so(roost: Roost) -> None:
    assert (await roost("user", "add", "Ada", "--admin")).code == 0
    assert (await roost("user", "disable", "owner")).code == 0
    said = "owner is shut out, and gets no answers. Let them in with `roost user enable owner`.\n"
    assert await roost("chat", "hi") == (1, "", said)


async def test_failure_is_told_beside_the_output(roost: Roost, answers: Answers) -> None:
    answers["hi"] = fail(401)
    failed = await roost("chat", "hi")
    assert (failed.code, failed.out) == (1, "")
    assert failed.err.startswith("nest does not accept the key")
    assert failed.err.endswith("Your message is kept. /continue or /retry.\n")
    assert len(failed.err.splitlines()) == 1


@pytest.mark.parametrize("typed", ["", " \n"])
async def test_nothing_to_say_is_a_mistake(roost: Roost, typed: str) -> None:
    assert await roost("chat", typed=typed) == (2, "", 'Say something: `roost chat "..."`\n')


@pytest.mark.parametrize("flags", [("--model", "zebra/x"), ("--session", "ses_nobody")])
async def test_what_is_not_there_is_refused(roost: Roost, flags: tuple[str, str]) -> None:
    refused = await roost("chat", "hi", *flags)
    assert refused.code in (1, 2)
    assert refused.out == ""
    assert len(refused.err.splitlines()) == 1


async def test_reader_that_leaves_is_no_error(
    roost: Roost, server: ModelServer, answers: Answers
) -> None:
    answers["hi"] = say("One") + stall() + say(" two three")
    reader, writer = os.pipe()
    process = await roost.start("chat", "hi", stdout=writer)
    os.close(writer)
    assert await asyncio.to_thread(os.read, reader, 3) == b"One"
    os.close(reader)
    server.release()
    left = await command.outcome(process)
    assert (left.code, left.err) == (0, "")


async def test_interrupt_keeps_what_was_said(
    roost: Roost, server: ModelServer, answers: Answers
) -> None:
    answers["hi"] = say("One two") + stall()
    process = await roost.start("chat", "hi")
    assert process.stdout is not None
    async with asyncio.timeout(command.DEADLINE):  # what was sent may still be on its way
        assert await process.stdout.readexactly(7) == b"One two"
    process.send_signal(signal.SIGINT)
    stopped = await command.outcome(process)
    assert stopped == (130, "\n", "Stopped. What it said is kept.\n")
    await roost("chat", "go on")
    assert "One two" in asked(server)[-1].body.decode()


async def test_folder_in_use_says_by_whom(roost: Roost) -> None:
    async with terminal(roost) as here:  # which has the folder itself: there is no server
        await here.prompt()
        refused = await roost("chat", "hi")
    assert (refused.code, refused.out) == (1, "")
    assert f"is in use by process {here.process.pid}" in refused.err


# In a terminal.


async def test_conversation_in_a_terminal(
    roost: Roost, server: ModelServer, answers: Answers
) -> None:
    answers |= {
        "What is a heron?": think("Hm.") + say("A **bird**.\n\n- gray\n- tall\n"),
        "Count.": say("One two") + stall(),
        "first line\nsecond line": say("Two lines."),
    }
    async with terminal(roost) as here:
        assert "New session, with nest/heron." in await here.prompt()
        here.type("What is a heron?" + ENTER)
        await here.until("tall")
        screen = await here.prompt()
        assert re.search(r"\n\nThought for \d+ s\n\nA bird\.\n\n • gray\n • tall\n\n>", screen)

        here.type("Count." + ENTER)
        await here.until("One two")
        here.type(CTRL_C)
        await here.until("Stopped. What it said is kept.")
        await here.prompt()

        here.type("/undo" + ENTER)
        await here.until("Taken back: “Count.”.")
        await here.prompt()
        here.type("first line" + ALT_ENTER + "second line" + ENTER)
        await here.until("Two lines.")
        assert "> first line\n  second line\n\nTwo lines." in await here.prompt()
        assert "Count." not in asked(server)[-1].body.decode()

        here.type("/quit" + ENTER)
        assert await here.over() == 0
    history = data(roost) / "chat_history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "What is a heron?" in history.read_text()


async def test_coming_back_shows_where_one_was(roost: Roost, answers: Answers) -> None:
    answers |= {"Where was I?": say("On the **roost**."), "Fail.": fail(400)}
    await roost("chat", "Where was I?")
    await roost("chat", "Fail.")
    async with terminal(roost) as here:
        screen = await here.prompt()
        assert "> Where was I?\n\nOn the roost.\n\n> Fail." in screen
        assert "nest refused the request" in screen
        assert "/retry asks again." in screen.replace("\n", " ")
        answers["Fail."] = say("Well done.")
        here.type("/ret\t" + ENTER)
        await here.until("Well done.")
        await here.prompt()
        here.type("\x1b[A\x1b[A")  # what was typed before, in this terminal or another
        here.type(CTRL_C + CTRL_D)
        assert await here.over() == 0


async def test_turn_cut_by_a_crash_goes_on_before_ones_eyes(
    roost: Roost, server: ModelServer, answers: Answers
) -> None:
    note = "repeat none of it.\n</note>"
    answers |= {"Count.": say("One two") + stall(), note: say(" three four")}
    async with terminal(roost) as here:
        await here.prompt()
        here.type("Count." + ENTER)
        await here.until("One two")
        here.process.kill()
        await here.process.wait()
    answers["Count."] = say("One two three four")  # if nothing of it was written down yet
    async with terminal(roost) as here:
        await here.until("three four")
        assert "> Count." in await here.prompt()
        here.type(CTRL_D)
        assert await here.over() == 0


async def test_ctrl_c_with_nothing_typed_leaves(roost: Roost) -> None:
    async with terminal(roost) as here:
        await here.prompt()
        here.type("half a thought" + CTRL_C + CTRL_C)
        assert await here.over() == 0


async def test_paste_of_several_lines_is_one_message(
    roost: Roost, server: ModelServer, answers: Answers
) -> None:
    answers["one\n\ntwo"] = say("Both.")
    async with terminal(roost) as here:
        await here.prompt()
        here.type("\x1b[200~one\r\n\r\ntwo\x1b[201~")
        await here.until("two")
        here.type(ENTER)
        await here.until("Both.")
        await here.prompt()
        here.type(CTRL_D)
        assert await here.over() == 0


async def test_keys_typed_too_early_wait_for_the_prompt(
    roost: Roost, server: ModelServer, answers: Answers
) -> None:
    answers |= {"one": say("First") + stall() + say(" answer."), "two": say("Second answer.")}
    async with terminal(roost) as here:
        await here.prompt()
        here.type("one" + ENTER)
        await here.until("First")
        here.type("two" + ENTER)
        server.release()
        screen = await here.until("Second answer.")
        assert "First answer.\n\n> two\n\nSecond answer." in screen
        await here.prompt()
        here.type(CTRL_D)
        assert await here.over() == 0


async def test_long_answer_is_whole(roost: Roost, answers: Answers) -> None:
    lines = [f"x{number} = {number}" for number in range(2000)]
    answers["long"] = say("\n".join(["```python", *lines, "```", "", "The end."]), size=40)
    async with terminal(roost) as here:
        await here.prompt()
        here.type("long" + ENTER)
        await here.until("The end.")
        screen = await here.prompt()
        here.type(CTRL_D)
        assert await here.over() == 0
    assert [line.strip() for line in screen.splitlines() if line.startswith("  x")] == lines


async def test_sessions_are_left_and_found_again(roost: Roost, server: ModelServer) -> None:
    async with terminal(roost) as here:
        await here.prompt()
        here.type("Talk of herons" + ENTER)
        await here.until("Talk of herons")
        await here.prompt()
        here.type("/new" + ENTER)
        await here.until("New session")
        await here.prompt()
        here.type("/sessions" + ENTER)
        await here.until("/resume NUMBER")
        await here.prompt()
        here.type("/resume 2" + ENTER)
        await here.until("> Talk of herons")
        await here.prompt()
        here.type(CTRL_D)
        assert await here.over() == 0


async def test_what_a_model_says_can_not_steer_the_terminal(roost: Roost, answers: Answers) -> None:
    answers["hi"] = say("a\x1b[2Jb\x1b]0;owned\x07c\x9b1Ad", size=0)
    async with terminal(roost) as here:
        await here.prompt()
        here.type("hi" + ENTER)
        await here.until("a[2Jb]0;ownedc1Ad")
        await here.prompt()
        here.type(CTRL_D)
        assert await here.over() == 0
    assert "\x1b]0;" not in here.raw


async def test_no_color_is_respected(roost: Roost, answers: Answers) -> None:
    answers["hi"] = say("`code` and **bold**")
    roost.environ["NO_COLOR"] = "1"
    async with terminal(roost) as here:
        await here.prompt()
        here.type("hi" + ENTER)
        await here.until("code and bold")
        await here.prompt()
        here.type(CTRL_D)
        assert await here.over() == 0
    assert "\x1b[36m" not in here.raw
