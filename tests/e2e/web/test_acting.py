"""What the agent does, and what it asks: tool calls, approvals and questions on the page."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from roost.testing.models import call, say, think
from tests.boxes import need
from tests.e2e.web.stage import Stage, staged
from tests.e2e.web.window import Window


class _Rules(msgspec.Struct):
    rules: list[dict[str, object]]


ASKS = """
[approvals]
ask = ["terminal"]
"""


@pytest_asyncio.fixture(loop_scope="session")
async def stage(tmp_path: Path, browser: Browser) -> AsyncGenerator[Stage]:
    await need("bubblewrap")
    async with staged(tmp_path, browser, ASKS) as stage:
        yield stage
    assert stage.troubles == []


@pytest.mark.contract("E5")
async def test_what_is_allowed_runs_and_its_output_is_there(stage: Stage) -> None:
    stage.plan(
        think("I need to count.") + call("terminal", {"command": "echo $((20 + 22))"}),
        say("It is 42."),
    )
    window = Window(await stage.page())
    await window.say("How much is it?")
    card = window.conversation.get_by_role("region", name="Run a command")
    await expect(card).to_contain_text("echo $((20 + 22))")
    await expect(window.page.get_by_role("navigation")).to_contain_text("Needs your answer")
    await window.button("Allow once").click()
    await window.sees("It is 42.")
    await window.is_idle()
    await window.conversation.get_by_role("button", name=re.compile(r"2 steps")).click()
    await window.conversation.get_by_role("button", name=re.compile("Ran")).click()
    await expect(window.conversation.get_by_text("42", exact=True).first).to_be_visible()
    await window.sees(re.compile("You allowed this in the web app"))
    await window.page.reload()
    await window.conversation.get_by_role("button", name=re.compile(r"2 steps")).click()
    await window.conversation.get_by_role("button", name=re.compile("Ran")).click()
    await window.sees(re.compile("You allowed this in the web app"))


async def test_what_is_allowed_always_keeps_its_lines(stage: Stage) -> None:
    lines = "echo one\necho two"
    stage.plan(call("terminal", {"command": lines}), say("One, and two."))
    window = Window(await stage.page())
    await window.say("Say both.")
    await window.button("Always…").click()
    pattern = window.page.get_by_role("textbox", name="Allow without asking from now on")
    await expect(pattern).to_have_value(f"={lines}")
    await pattern.press("Enter")
    await window.sees("One, and two.")
    rules = msgspec.convert(await window.api("/api/rules"), _Rules)
    assert [rule["pattern"] for rule in rules.rules] == [f"={lines}"]


@pytest.mark.contract("E5")
async def test_question_outlives_a_kill_and_what_is_denied_does_not_run(stage: Stage) -> None:
    stage.plan(call("terminal", {"command": "touch done.txt"}), say("I left it alone."))
    window = Window(await stage.page())
    await window.say("Touch it.")
    await expect(window.button("Allow once")).to_be_visible()
    stage.expected_breaks = True
    await stage.kill()
    await stage.start()
    await window.page.reload()
    await window.button("Deny…").click()
    await window.button("Deny").click()
    await window.sees("I left it alone.")
    told = [str(request.results) for request in stage.model.requests if request.results]
    assert "denied" in told[-1].lower()


async def test_question_of_the_agents_is_answered_by_a_choice(stage: Stage) -> None:
    asked = {"question": "Which colour?", "choices": ["Red", "Blue"]}
    stage.plan(call("ask_user", asked), say("Blue it is."))
    window = Window(await stage.page())
    await window.say("Paint it.")
    await window.sees("Which colour?")
    await window.button("Blue").click()
    await window.sees("Blue it is.")


async def test_change_of_a_file_is_shown_as_a_diff(stage: Stage) -> None:
    stage.plan(
        call("write_file", {"path": "owl.txt", "content": "The owl sleeps.\nAll is quiet.\n"}),
        call("read_file", {"path": "owl.txt"}),
        call("edit_file", {"path": "owl.txt", "old": "sleeps", "new": "sings"}),
        say("Changed."),
    )
    window = Window(await stage.page())
    await window.say("Wake the owl.")
    await window.sees("Changed.")
    await window.is_idle()
    await window.conversation.get_by_role("button", name=re.compile(r"3 steps")).click()
    await window.conversation.get_by_role("button", name=re.compile("Edited")).click()
    await expect(window.conversation.locator("ins, .added").first).to_contain_text("sings")
