"""Beside the conversation: processes, the agent's browser, subagents, projects, what it took."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Browser, expect

from roost.testing.models import call, say, stall, use
from tests.boxes import need
from tests.e2e.web.stage import Stage, staged
from tests.e2e.web.window import Window
from tests.engine import eventually

WINDOW = 8000


@pytest_asyncio.fixture(loop_scope="session")
async def stage(tmp_path: Path, browser: Browser) -> AsyncGenerator[Stage]:
    await need("bubblewrap")
    async with staged(tmp_path, browser, f"context = {WINDOW}") as stage:
        yield stage
    assert stage.troubles == []


async def test_process_in_the_background_is_shown_and_stopped(stage: Stage) -> None:
    command = "echo the owl wakes; sleep 600"
    stage.plan(call("terminal", {"command": command, "background": True}), say("It runs."))
    window = Window(await stage.page())
    await window.say("Start it.")
    await window.sees("It runs.")
    await window.button("Show panel").click()
    await window.page.get_by_role("tab", name="Processes").click()
    panel = window.page.get_by_role("tabpanel")
    await expect(panel.get_by_text("the owl wakes", exact=True)).to_be_visible()
    await expect(panel.get_by_text("Running")).to_be_visible()
    await panel.get_by_role("button", name="Stop", exact=True).click()
    await expect(panel.get_by_text(re.compile("^Ended"))).to_be_visible()


async def test_panel_shows_what_the_agents_browser_shows(stage: Stage) -> None:
    """Even a page that it may not see is one it stands before."""
    stage.plan(call("browser", {"action": "open", "url": f"{stage.address}/"}), say("No way in."))
    window = Window(await stage.page())
    await window.say("Look at it.")
    await window.sees("No way in.")
    await window.sees(re.compile("not a public address"))
    await window.button("Show panel").click()
    await window.page.get_by_role("tab", name="Browser").click()
    panel = window.page.get_by_role("tabpanel")
    await expect(panel.get_by_text(stage.address)).to_be_visible()
    picture = panel.get_by_role("img", name=re.compile("What the agent sees"))
    await expect(picture).not_to_have_js_property("naturalWidth", 0)


async def test_subagent_is_seen_at_work_and_leads_back(stage: Stage) -> None:
    task = {"task": "Count the owls\nin the oak.", "background": "The oak is old."}
    stage.plan(
        call("delegate", task),
        say("There are three.") + stall(),
        say("My helper counted three."),
    )
    window = Window(await stage.page())
    await window.say("How many owls?")
    card = window.conversation.get_by_role("region", name="Subagent")
    await expect(card).to_contain_text("At work")
    await expect(window.sessions).to_have_count(1)
    origin = await window.session()
    await eventually(lambda: _is_asked(stage))
    stage.model.release()
    await window.sees("My helper counted three.")
    await window.is_idle()
    await window.conversation.get_by_role("button", name=re.compile("Delegated")).click()
    await expect(card).to_contain_text("There are three.")
    await card.get_by_role("link", name="Open its session").click()
    await window.sees(re.compile("The oak is old."))
    await window.page.get_by_role("link", name=re.compile("Works for")).click()
    await window.page.wait_for_url(re.compile(origin))


async def _is_asked(stage: Stage) -> bool:
    """The helper's model: its work is shown before that."""
    return any(request.is_stalled for request in stage.model.requests)


async def test_ring_says_how_full_the_window_is(stage: Stage) -> None:
    stage.plan(use(input_tokens=WINDOW // 4 - 10, output_tokens=10) + say("A quarter."))
    window = Window(await stage.page())
    await window.say("How much is it?")
    await window.sees("A quarter.")
    await window.button("Context: 25% full").click()
    figures = window.page.get_by_role("dialog")
    await expect(figures.get_by_text("2K of 8K tokens")).to_be_visible()
    await expect(figures.get_by_text("Unknown")).to_be_visible()


async def test_what_waits_joins_the_answer_when_told(stage: Stage) -> None:
    stage.plan(
        say("Busy. ") + stall() + call("todo", {"items": [{"text": "Go on", "state": "doing"}]}),
        say("With what you added."),
        say("And the rest."),
    )
    window = Window(await stage.page())
    await window.say("First")
    await window.sees("Busy.")
    await window.say("Later")
    await window.say("At once")
    queue = window.page.get_by_label("Waiting to be sent").get_by_role("listitem")
    await expect(queue).to_have_count(2)
    await queue.last.get_by_role("button", name="Send now, into this answer").click()
    await expect(queue.first).to_contain_text("At once")
    await expect(queue.first).to_contain_text("joins the answer")
    stage.model.release()
    await window.sees("And the rest.")
    steered = stage.model.requests[1]
    assert "At once" in str(steered.body)
    assert "Later" not in str(steered.body)


async def test_found_words_lead_to_their_message(stage: Stage) -> None:
    stage.model.otherwise(say("Fine."))
    window = Window(await stage.page())
    page = window.page
    await window.say("The heron wades")
    await window.sees("Fine.")
    await window.is_idle()
    session = await window.session()
    await window.finds("heron")
    await window.new_chat()
    await page.get_by_label("Search in all sessions").fill("heron")
    await window.sessions.get_by_text("The heron wades").click()
    await page.wait_for_url(re.compile(rf"/s/{session}\?m=msg_"))
    await window.sees("The heron wades")
    await window.button("Clear search").click()
    await window.new_chat()
    await page.keyboard.press("Control+k")
    await page.keyboard.type("heron")
    await page.get_by_role("option", name=re.compile("The heron wades")).click()
    await page.wait_for_url(re.compile(rf"/s/{session}\?m=msg_"))


async def test_session_is_filed_under_a_project(stage: Stage) -> None:
    stage.model.otherwise(say("Fine."))
    window = Window(await stage.page())
    page = window.page
    await window.say("Plant the beans")
    await window.sees("Fine.")
    await window.is_idle()
    await window.button("Session menu").click()
    await page.get_by_role("menuitem", name="Move to project").click()
    await page.get_by_label("Project", exact=True).fill("Garden")
    await page.keyboard.press("Enter")
    garden = page.get_by_role("navigation").get_by_role("button", name=re.compile("^Garden"))
    await expect(garden).to_have_attribute("aria-expanded", "true")
    await page.reload()
    await garden.click()
    await expect(window.sessions).to_have_count(0)
    await window.new_chat()
    await window.say("Water the beans")
    await window.sees("Fine.")
    await window.button("Session menu").click()
    await page.get_by_role("menuitem", name="Move to project").click()
    await page.get_by_role("dialog").get_by_role("button", name="Garden").click()
    await expect(garden).to_contain_text("2")
