"""What was said can be said again: edit, undo, retry with another model, branch, compact."""

import re

from playwright.async_api import Locator, expect

from roost.testing.models import call, fail, say
from tests.e2e.web.stage import Stage
from tests.e2e.web.window import Window


async def _act(window: Window, message: Locator, action: str) -> None:
    """By the menu that stands under what a person, or the agent, has said."""
    await message.get_by_role("button", name="What to do with this message").click()
    await window.page.get_by_role("menuitem", name=action).click()


async def test_edited_message_is_answered_anew(stage: Stage) -> None:
    stage.plan(say("Two and two is four."), say("Three and three is six."))
    window = Window(await stage.page())
    await window.say("What is two and two?")
    await window.sees("Two and two is four.")
    await window.is_idle()
    await window.turn("What is two").get_by_role("button", name="Edit and send again").click()
    editor = window.page.get_by_role("textbox", name="Your message")
    await editor.fill("What is three and three?")
    await editor.press("Enter")
    await window.sees("Three and three is six.")
    await window.sees_no("Two and two is four.")
    await window.page.reload()
    await window.sees("Three and three is six.", times=1)
    await window.sees_no("What is two and two?")


async def test_what_was_taken_back_can_be_brought_back(stage: Stage) -> None:
    stage.model.otherwise(say("An answer."))
    window = Window(await stage.page())
    await window.say("A question.")
    await window.sees("An answer.")
    await window.is_idle()
    words = window.turn("A question.").get_by_role("group").first
    await _act(window, words, "Take back")
    await window.sees_no("A question.")
    await window.button("Undo").click()
    await window.sees("A question.", times=1)
    await window.sees("An answer.", times=1)


async def test_branch_goes_its_own_way(stage: Stage) -> None:
    stage.plan(say("One."), say("Two."), say("Other two."))
    window = Window(await stage.page())
    await window.say("First")
    await window.sees("One.")
    await window.is_idle()
    origin = await window.session()
    await _act(window, window.turn("First").get_by_role("group").last, "Branch from here")
    await window.page.wait_for_url(lambda url: "/s/" in url and origin not in url)
    await window.say("Second, in the branch")
    await window.sees("Two.")
    await window.page.goto(f"{stage.address}/s/{origin}")
    await window.sees("One.", times=1)
    await window.sees_no("Second, in the branch")


async def test_failed_turn_says_what_to_do_and_another_model_answers(stage: Stage) -> None:
    stage.plan(fail("no_credit"))
    stage.model.plan(say("The other one answers."), model="other")
    window = Window(await stage.page())
    await window.say("Will you answer?")
    await expect(window.button("Retry with another model")).to_be_visible()
    await window.page.reload()
    await window.button("Retry with another model").click()
    await window.page.get_by_role("menuitemradio", name="test/other").click()
    await window.sees("The other one answers.")
    assert "other" in {request.model for request in stage.model.requests}
    await window.sees("Will you answer?", times=1)


async def test_what_a_compaction_replaced_is_one_click_away(stage: Stage) -> None:
    words = "The owl keeps a long list of everything it saw in the oak. " * 60
    stage.model.otherwise(say(words + "No more of it."))
    window = Window(await stage.page())
    for number in range(6):
        await window.say(f"Question {number}: {words}")
        await expect(window.turn(f"Question {number}")).to_contain_text("No more of it.")
        await window.is_idle()
    stage.model.otherwise(say("They spoke of an owl and its list."))
    await window.say("/compact")
    await expect(window.page.get_by_text("There is room again.").first).to_be_visible()
    await window.page.mouse.move(700, 400)
    summarised = window.conversation.get_by_text("Earlier messages were summarised").first
    await window.scrolls_to(summarised, -100_000)
    await window.conversation.get_by_role("button", name="Show what it replaced").click()
    await expect(window.page.get_by_text(re.compile("Question 1:")).first).to_be_visible()


async def test_search_leads_to_a_message_that_was_summarised_twice(stage: Stage) -> None:
    words = "The owl keeps a long list of everything it saw in the oak. " * 60
    window = Window(await stage.page())
    page = window.page
    for animal in ("wombat", "badger"):
        stage.model.otherwise(say(words + "No more of it."))
        for number in range(6):
            subject = animal if number == 1 else "owl"
            await window.say(f"{animal} question {number}: where is the {subject}{number}? {words}")
            await expect(window.turn(f"{animal} question {number}")).to_contain_text("No more")
            await window.is_idle()
        stage.model.otherwise(say("They spoke of an owl and its list."))
        await window.say("/compact")
        await expect(page.get_by_text("There is room again.").first).to_be_visible()
        await page.get_by_label("Notices").get_by_role("button", name="Close").first.click()
    await window.finds("wombat1")
    await window.finds("badger1")
    await page.goto(f"{stage.address}/")
    for subject in ("wombat1", "badger1", "wombat1"):
        await page.get_by_role("searchbox", name="Search in all sessions").fill(subject)
        hit = page.get_by_role("list", name="Results").get_by_role("link")
        await expect(hit).to_have_count(1)
        await expect(hit).to_contain_text(subject)
        await hit.click()
        message = window.conversation.get_by_text(re.compile(f"where is the {subject}"))
        await expect(message).to_be_in_viewport()
    await expect(page.get_by_text("not part of the conversation")).to_have_count(0)


async def test_what_was_cleared_is_read_from_its_end_to_its_beginning(stage: Stage) -> None:
    steps = [{"items": [{"text": f"Look at oak {n}", "state": "doing"}]} for n in range(30)]
    stage.plan(*[call("todo", step) for step in steps], say("No owl in any."))
    window = Window(await stage.page())
    await window.say("Is there an owl?")
    await window.sees("No owl in any.")
    await window.is_idle()
    await window.say("/clear")
    await window.sees_no("No owl in any.")
    await window.button("Show panel").click()
    await window.page.get_by_role("tab", name="Info").click()
    panel = window.page.get_by_role("tabpanel")
    await panel.get_by_role("button", name="Show what it replaced").click()
    await expect(panel.get_by_text("No owl in any.")).to_be_visible()
    await expect(panel.get_by_text("Is there an owl?")).to_have_count(0)
    await panel.get_by_role("button", name="Show earlier").click()
    await expect(panel.get_by_text("Is there an owl?")).to_be_visible()
    await expect(panel.get_by_role("button", name="Show earlier")).to_have_count(0)
    stage.plan(say("You are welcome."))
    await window.say("Thanks.")
    await window.sees("You are welcome.")
    await window.is_idle()
    await expect(panel.get_by_text("Is there an owl?")).to_be_visible()
