"""Talking, in a real browser with a real server: streams that break, and pages that agree."""

import asyncio
import re

import pytest
from playwright.async_api import Route, expect

from roost.testing.models import say, stall
from tests.e2e.web.stage import Stage
from tests.e2e.web.window import Window

OFFLINE = re.compile("can't be reached", re.IGNORECASE)
LONG = "One word after the other, until the story of the owl is told. " * 20


async def test_first_message_opens_a_session_and_its_answer_streams(stage: Stage) -> None:
    stage.plan(say("It was a *quiet* night. ") + stall() + say("Then it ended."))
    window = Window(await stage.page())
    await window.say("Tell me of the night.")
    await window.sees("It was a quiet night.")
    await expect(window.conversation.locator("em")).to_have_text("quiet")
    stage.model.release()
    await window.sees("Then it ended.")
    await window.is_idle()
    session = await window.session()
    await expect(window.composer).to_have_value("")
    await expect(window.sessions).to_have_count(1)
    assert session in str(await window.sessions.first.get_attribute("href"))


@pytest.mark.contract("D5")
async def test_reload_in_mid_stream_shows_what_was_said_and_goes_on(stage: Stage) -> None:
    stage.plan(say("The first half. ") + stall() + say("The second half."))
    window = Window(await stage.page())
    await window.say("Tell me.")
    await window.sees("The first half.")
    await window.page.reload()
    await window.sees("The first half.", times=1)
    stage.model.release()
    await window.sees("The second half.", times=1)
    await window.is_idle()


@pytest.mark.contract("D5")
async def test_server_killed_in_mid_stream_comes_back_and_nothing_is_lost(stage: Stage) -> None:
    stage.plan(say("It was never to be ") + stall())
    stage.model.otherwise(say("All is well."))
    window = Window(await stage.page())
    await window.say("Tell me.")
    await window.sees("It was never to be")
    stage.expected_breaks = True
    await stage.kill()
    await expect(window.page.get_by_text(OFFLINE).first).to_be_visible()
    await stage.start()
    await window.sees("All is well.", times=1)
    await expect(window.page.get_by_text(OFFLINE)).to_have_count(0)
    await window.page.reload()
    await window.sees("Tell me.", times=1)
    await window.sees("All is well.", times=1)


async def test_words_that_were_sent_stay_the_same_element_until_their_answer(stage: Stage) -> None:
    stage.plan(say("Good day."), say("Still the same."))
    window = Window(await stage.page())
    await window.say("Hello.")
    await window.sees("Good day.")
    await window.is_idle()
    may_leave = asyncio.Event()

    async def held(route: Route) -> None:
        await may_leave.wait()
        await route.continue_()

    await window.page.route("**/turns", held)
    await window.say("Who are you?")
    words = await window.conversation.get_by_text("Who are you?").element_handle()
    may_leave.set()
    await window.sees("Still the same.")
    await window.is_idle()
    assert await words.evaluate("(element) => element.isConnected")


@pytest.mark.contract("D11")
async def test_two_browsers_on_one_session_agree(stage: Stage) -> None:
    stage.plan(say("Seen by ") + stall() + say("both."), say("And this."))
    one = Window(await stage.page())
    two = Window(await stage.page())
    await one.say("Hello, you two.")
    session = await one.session()
    await two.page.goto(f"{stage.address}/s/{session}")
    for window in (one, two):
        await window.sees("Seen by")
    stage.model.release()
    for window in (one, two):
        await window.sees("Seen by both.", times=1)
    await two.say("From the second.")
    for window in (one, two):
        await window.sees("From the second.", times=1)
        await window.sees("And this.", times=1)


@pytest.mark.contract("D6")
async def test_stop_keeps_what_was_said(stage: Stage) -> None:
    stage.plan(say("Half an answer ") + stall())
    window = Window(await stage.page())
    await window.say("Go on and on.")
    await window.sees("Half an answer")
    await window.button("Stop").click()
    await window.is_idle()
    await window.sees("Half an answer", times=1)
    await window.sees(re.compile("Stopped"))
    await window.page.reload()
    await window.sees("Half an answer", times=1)
    await window.sees(re.compile("Stopped"))


async def test_what_is_sent_meanwhile_waits_and_can_be_changed_and_taken_out(stage: Stage) -> None:
    stage.plan(say("Busy. ") + stall(), say("Now the second."))
    window = Window(await stage.page())
    await window.say("First")
    await window.sees("Busy.")
    await window.say("Second, as it was")
    await window.say("Third")
    queue = window.page.get_by_label("Waiting to be sent")
    await expect(queue.get_by_role("listitem")).to_have_count(2)
    first = queue.get_by_role("listitem").first
    await first.get_by_role("button", name="Change").click()
    editor = queue.get_by_role("textbox")
    await editor.fill("Second, changed")
    await editor.press("Enter")
    await expect(first).to_contain_text("Second, changed")
    await queue.get_by_role("listitem").last.get_by_role("button", name="Take out").click()
    await expect(queue.get_by_role("listitem")).to_have_count(1)
    stage.model.release()
    await window.sees("Now the second.")
    await window.sees("Second, changed", times=1)
    await window.sees_no("Third")


async def test_a_draft_is_there_after_a_reload_and_gone_once_it_is_sent(stage: Stage) -> None:
    stage.model.otherwise(say("Fine."))
    window = Window(await stage.page())
    await window.say("Hello")
    await window.sees("Fine.")
    await window.composer.fill("Half a thought")
    await window.page.wait_for_function("() => Object.keys(localStorage).join().includes('draft')")
    await window.page.reload()
    await expect(window.composer).to_have_value("Half a thought")
    await window.composer.press("Enter")
    await window.sees("Fine.", times=2)
    await window.page.reload()
    await expect(window.composer).to_have_value("")


async def test_long_answer_is_followed_only_by_who_reads_its_end(stage: Stage) -> None:
    stage.plan(say(LONG * 3) + stall() + say("\n\nThe very end."))
    window = Window(await stage.page())
    await window.say("Tell me a long story.")
    await expect(window.conversation).to_contain_text((LONG * 3).strip())
    await window.page.mouse.move(700, 300)
    await window.page.mouse.wheel(0, -2000)
    stage.model.release()
    await expect(window.button(re.compile("New below|newest"))).to_be_visible()
    await expect(
        window.conversation.get_by_text("The very end.", exact=True)
    ).not_to_be_in_viewport()
    await window.button(re.compile("New below|newest")).click()
    await expect(window.conversation.get_by_text("The very end.", exact=True)).to_be_in_viewport()


@pytest.mark.contract("C2")
async def test_new_chat_names_the_session_that_is_left_and_does_not_end_it(stage: Stage) -> None:
    stage.model.otherwise(say("Fine."))
    window = Window(await stage.page())
    await window.say("First chat")
    await window.sees("Fine.")
    left = await window.session()
    await window.new_chat()
    async with window.page.expect_request(
        lambda request: request.url.endswith("/api/sessions") and request.method == "POST"
    ) as asked:
        await window.say("Second chat")
    opening = (await asked.value).post_data_json
    assert opening is not None
    assert opening["previous"] == left
    await window.sees("Fine.")
    assert await window.session() != left
    found = await window.api(f"/api/sessions/{left}")
    assert isinstance(found, dict)
    assert found["ended_at"] is None
