"""Getting around: by keyboard alone, on a phone, and through many sessions."""

import re

from playwright.async_api import expect

from roost.testing.models import call, say, stall
from tests.e2e.web.stage import PHONE, Stage
from tests.e2e.web.window import Window


async def test_everything_of_a_chat_works_by_keyboard_alone(stage: Stage) -> None:
    stage.model.otherwise(say("Typed, not clicked."))
    window = Window(await stage.page())
    await expect(window.composer).to_be_focused()
    await window.page.keyboard.type("Hello from the keys")
    await window.page.keyboard.press("Enter")
    await window.sees("Typed, not clicked.")
    first = await window.session()
    await window.finds("Hello")
    await window.page.keyboard.press("Control+k")
    await window.page.keyboard.type("new chat")
    await window.page.keyboard.press("Enter")
    await window.page.wait_for_url(re.compile(r"/$"))
    await expect(window.composer).to_be_focused()
    await window.page.keyboard.type("A second one")
    await window.page.keyboard.press("Enter")
    await window.sees("Typed, not clicked.")
    await window.page.keyboard.press("Control+k")
    await window.page.keyboard.type("Hello from")
    await expect(window.page.get_by_role("option").first).to_be_visible()
    await window.page.keyboard.press("Enter")
    await window.page.wait_for_url(re.compile(first))


async def test_help_lists_the_shortcuts(stage: Stage) -> None:
    window = Window(await stage.page())
    await expect(window.composer).to_be_focused()
    await window.composer.blur()
    await window.page.keyboard.press("?")
    dialog = window.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("New chat")
    await window.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)


async def test_what_had_the_focus_has_it_again_when_a_dialog_closes(stage: Stage) -> None:
    window = Window(await stage.page())
    page = window.page
    await expect(window.composer).to_be_focused()
    await page.keyboard.press("Control+k")
    await page.keyboard.press("Escape")
    await page.keyboard.type("Typed on")
    await expect(window.composer).to_have_value("Typed on")
    await page.goto(f"{stage.address}/settings/account")
    await window.button("New token").press("Enter")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(window.button("New token")).to_be_focused()


async def test_phone_has_drawers(stage: Stage) -> None:
    stage.model.otherwise(say("Small, but whole."))
    window = Window(await stage.page(size=PHONE))
    await expect(window.page.get_by_role("navigation")).not_to_be_in_viewport()
    await window.composer.fill("From the phone")
    await window.button("Send").click()
    await window.sees("Small, but whole.")
    await window.button("Sessions").click()
    await expect(window.sessions.first).to_be_in_viewport()
    await window.page.keyboard.press("Escape")
    await expect(window.page.get_by_role("navigation")).not_to_be_in_viewport()
    width = await window.page.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE[0]


async def test_search_finds_what_was_said_and_marks_it(stage: Stage) -> None:
    stage.plan(say("The heron stands in the reeds."), say("Nothing of birds."))
    window = Window(await stage.page())
    await window.say("Where is it?")
    await window.sees("The heron stands")
    session = await window.session()
    await window.finds("heron")
    await window.new_chat()
    await window.say("Something else")
    await window.sees("Nothing of birds.")
    await window.page.get_by_role("searchbox").fill("heron")
    await expect(window.page.locator("mark").first).to_have_text(re.compile("heron", re.IGNORECASE))
    await window.page.locator("mark").first.click()
    await window.page.wait_for_url(re.compile(session))
    await window.sees("The heron stands")


async def test_ten_thousand_sessions_scroll_with_few_rows_on_the_page(stage: Stage) -> None:
    window = Window(await stage.page())
    await window.page.evaluate(
        """async () => {
          const post = (n) => fetch('/api/sessions', {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({ title: `Session number ${n}` }),
          });
          for (let n = 0; n < 1200; n += 20)
            await Promise.all(Array.from({ length: 20 }, (_, k) => post(n + k)));
        }"""
    )
    await window.page.reload()
    await expect(window.sessions.first).to_contain_text("Session number")
    assert await window.sessions.count() < 120
    await window.sessions.first.hover()
    await window.scrolls_to(window.page.get_by_text("Session number 3", exact=True), 4000)
    assert await window.sessions.count() < 120


async def test_theme_is_chosen_and_kept(stage: Stage) -> None:
    window = Window(await stage.page())
    await window.page.goto(f"{stage.address}/settings/appearance")
    await window.page.get_by_role("radio", name="Dark").check()
    await expect(window.page.locator("html")).to_have_attribute("data-theme", "dark")
    await window.page.reload()
    await expect(window.page.locator("html")).to_have_attribute("data-theme", "dark")


async def test_on_a_phone_no_notice_covers_what_is_written(stage: Stage) -> None:
    stage.model.otherwise(say("Fine."))
    window = Window(await stage.page(size=PHONE))
    page = window.page
    await window.composer.fill("Hello")
    await window.button("Send").click()
    await window.sees("Fine.")
    await window.is_idle()
    await window.composer.fill("A line\n" * 6)
    await window.button("Session menu").click()
    await page.get_by_role("menuitem", name="Archive").click()
    close = page.get_by_label("Notices").get_by_role("button", name="Close")
    await expect(close).to_be_visible()
    notice, writing = await close.bounding_box(), await window.composer.bounding_box()
    menu = await window.button("Session menu").bounding_box()
    assert notice is not None
    assert writing is not None
    assert menu is not None
    assert menu["y"] + menu["height"] < notice["y"]
    assert notice["y"] + notice["height"] < writing["y"]


async def test_where_there_is_little_room_words_give_way(stage: Stage) -> None:
    """To the state of a session and its menu, and to icons."""
    plan = [{"text": "Think about it for as long as it takes to fill a line", "state": "doing"}]
    stage.model.plan(say("A title that is as long as titles get when nobody cuts"), model="small")
    stage.plan(call("todo", {"items": plan}), say("Planned."), say("Half of it ") + stall())
    window = Window(await stage.page())
    page = window.page
    await window.say("Make a plan.")
    await expect(window.sessions.first).to_contain_text("A title")
    await window.say("Begin.")
    await window.sees("Half of it")
    await window.say("Then go on.")
    state = page.get_by_role("main").get_by_text("Answering, 1 message waits")
    for width in (320, 720):
        await page.set_viewport_size({"width": width, "height": 700})
        words, menu = await state.bounding_box(), await window.button("Session menu").bounding_box()
        assert words is not None
        assert menu is not None
        assert words["x"] + words["width"] <= menu["x"]
    await page.set_viewport_size({"width": 320, "height": 700})
    await window.button(re.compile("Updated the plan")).click()
    icon = (
        await window.conversation.get_by_role("listitem")
        .filter(has_text="Think")
        .locator("svg")
        .bounding_box()
    )
    assert icon is not None
    assert icon["width"] == 16
