"""What goes wrong is said where it happened, with a button that helps."""

import re

from playwright.async_api import Route, expect

from roost.testing.models import fail, say, stall
from tests.e2e.web.stage import Stage
from tests.e2e.web.window import Window

REFUSAL = '{"type": "busy", "title": "Busy", "status": 503, "detail": "The disk is full."}'

FETCHED = (
    "(name) => performance.getEntriesByType('resource').some((each) => each.name.includes(name))"
)


async def _refuse(route: Route) -> None:
    if route.request.method == "POST":
        await route.fulfill(status=503, content_type="application/problem+json", body=REFUSAL)
    else:
        await route.continue_()


async def _unreadable(route: Route) -> None:
    await route.fulfill(status=503, content_type="application/problem+json", body=REFUSAL)


async def test_refused_message_is_kept_to_be_sent_again_or_dropped(stage: Stage) -> None:
    stage.model.otherwise(say("Fine."))
    window = Window(await stage.page())
    page = window.page
    await window.say("The first")
    await window.sees("Fine.", times=1)
    await window.is_idle()
    await page.route("**/turns", _refuse)
    await window.say("The second")
    await window.sees(re.compile("Not sent. The disk is full."))
    assert "503" in stage.troubles.pop()
    await page.unroute("**/turns")
    await window.conversation.get_by_role("button", name="Retry", exact=True).last.click()
    await window.sees("Fine.", times=2)
    await window.sees("The second", times=1)
    await window.is_idle()
    await page.route("**/turns", _refuse)
    await window.say("The third")
    await window.button("Drop").click()
    assert "503" in stage.troubles.pop()
    await window.sees_no("The third")
    await page.reload()
    await window.sees("The second", times=1)
    await window.sees_no("The third")


async def test_list_that_could_not_be_read_is_read_again_when_told(stage: Stage) -> None:
    stage.model.otherwise(say("Fine."))
    window = Window(await stage.page())
    page = window.page
    await window.say("Where are you?")
    await window.sees("Fine.")
    await page.route("**/api/sessions?*", _unreadable)
    await page.reload()
    sidebar = page.get_by_role("navigation", name="Sessions")
    await expect(sidebar).to_contain_text("The disk is full.")
    await page.unroute("**/api/sessions?*")
    await sidebar.get_by_role("button", name="Retry").click()
    await expect(window.sessions).to_have_count(1)
    await expect(sidebar).not_to_contain_text("The disk is full.")
    while stage.troubles:
        assert "503" in stage.troubles.pop()


async def test_answer_that_failed_keeps_its_words_and_goes_on_when_told(stage: Stage) -> None:
    stage.plan(say("Half of it ") + fail("no_credit", in_stream=True))
    window = Window(await stage.page())
    await window.say("Tell me all.")
    await window.sees("Half of it")
    end = window.conversation.get_by_role("alert")
    await expect(end).to_contain_text("3 words of the answer are kept.")
    await expect(window.button("Retry with another model")).to_have_count(1)
    stage.plan(say("and the other half."))
    await window.button("Continue").click()
    await window.sees("and the other half.", times=1)
    await window.sees("Half of it", times=1)
    await expect(end).to_have_count(0)
    await window.page.reload()
    await window.sees("and the other half.", times=1)


async def test_stopped_answer_is_asked_for_again(stage: Stage) -> None:
    stage.plan(say("Wrong from the start ") + stall(), say("Right."))
    window = Window(await stage.page())
    await window.say("Which way?")
    await window.sees("Wrong from the start")
    await window.button("Stop").click()
    await window.is_idle()
    await window.button("Retry").click()
    await window.sees("Right.")
    await window.sees("Which way?", times=1)
    await window.sees_no("Wrong from the start")


async def test_deleted_session_is_gone_in_other_windows_and_by_its_address(stage: Stage) -> None:
    stage.model.otherwise(say("Fine."))
    one, two = Window(await stage.page()), Window(await stage.page())
    await one.say("Not for long")
    await one.sees("Fine.")
    await one.is_idle()
    address = one.page.url
    await two.page.goto(address)
    await two.sees("Fine.")
    await one.button("Session menu").click()
    await one.page.get_by_role("menuitem", name="Delete").click()
    await one.page.get_by_label("Notices").get_by_role("button", name="Close").click()
    await expect(two.page.get_by_text("This session is gone")).to_be_visible()
    await expect(two.button("Session menu")).to_have_count(0)
    await expect(two.sessions).to_have_count(0)
    await one.page.goto(address)
    await expect(one.page.get_by_text("This session is gone")).to_be_visible()
    assert "404" in stage.troubles.pop()
    await one.page.get_by_role("main").get_by_role("button", name="New chat").last.click()
    await expect(one.composer).to_be_visible()


async def test_ended_session_says_so_and_goes_on_with_a_message(stage: Stage) -> None:
    stage.model.otherwise(say("Fine."))
    window = Window(await stage.page())
    await window.say("Good night")
    await window.sees("Fine.", times=1)
    await window.is_idle()
    await window.button("Session menu").click()
    await window.page.get_by_role("menuitem", name="End", exact=True).click()
    state = window.page.get_by_role("main").get_by_text("Ended", exact=True)
    await expect(state).to_be_visible()
    await expect(window.composer).to_have_attribute("placeholder", re.compile("has ended"))
    await window.say("Good morning")
    await window.sees("Fine.", times=2)
    await expect(state).to_have_count(0)


async def test_cleared_conversation_comes_back(stage: Stage) -> None:
    stage.model.otherwise(say("Fine."))
    window = Window(await stage.page())
    await window.say("Keep this")
    await window.sees("Fine.")
    await window.is_idle()
    await window.button("Session menu").click()
    await window.page.get_by_role("menuitem", name="Clear").click()
    await window.sees_no("Keep this")
    await window.sees("Nothing has been said yet.")
    await window.button("Undo").click()
    await window.sees("Keep this", times=1)


async def test_without_its_server_the_page_says_so_and_comes_back_by_itself(stage: Stage) -> None:
    window = Window(await stage.page())
    page = window.page
    await page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
    await page.reload()
    await expect(window.composer).to_be_visible()
    stage.expected_breaks = True
    await stage.kill()
    await page.reload()
    await expect(page.get_by_role("heading", name="Roost can't be reached")).to_be_visible()
    await stage.start()
    await expect(window.composer).to_be_visible()


async def test_settings_that_were_not_opened_before_are_there_without_the_server(
    stage: Stage,
) -> None:
    window = Window(await stage.page())
    page = window.page
    await page.wait_for_function(FETCHED, arg="About-")
    stage.expected_breaks = True
    await stage.kill()
    await page.keyboard.press("Control+,")
    await page.get_by_role("link", name="Appearance").click()
    await expect(page.get_by_role("radiogroup", name="Theme")).to_be_visible()
    await page.get_by_role("link", name="Memory").click()
    main = page.get_by_role("main")
    await expect(main).to_contain_text("Roost can't be reached")
    await stage.start()
    await expect(main).not_to_contain_text("Roost can't be reached")


async def test_settings_that_did_not_come_are_there_when_tried_once_more(stage: Stage) -> None:
    stage.expected_breaks = True
    window = Window(await stage.page(signed_in=False))
    page = window.page
    await page.route("**/assets/Models-*.js", lambda route: route.abort())
    await page.goto(await stage.link())
    await expect(window.composer).to_be_visible()
    await stage.kill()
    await page.keyboard.press("Control+,")
    main = page.get_by_role("main")
    await expect(main).to_contain_text("Roost can't be reached")
    await page.unroute("**/assets/Models-*.js")
    await main.get_by_role("button", name="Retry").click()
    await expect(main).to_contain_text("Roost can't be reached")
    await stage.start()
    await main.get_by_role("button", name="Retry").click()
    await expect(main.get_by_role("heading", name="Providers")).to_be_visible()


async def test_message_that_finds_no_server_says_that_it_waits_and_goes_out_by_itself(
    stage: Stage,
) -> None:
    stage.model.otherwise(say("Fine."))
    window = Window(await stage.page())
    await window.say("The first")
    await window.sees("Fine.", times=1)
    await window.is_idle()
    stage.expected_breaks = True
    await stage.kill()
    await window.say("The second")
    await window.sees("Waits for Roost; it goes out by itself.", times=1)
    await window.sees_no("Not sent.")
    await window.say("The third")
    await window.sees("Waits for Roost; it goes out by itself.", times=2)
    await window.button("Drop").last.click()
    await window.page.keyboard.press("Control+,")
    async with window.page.expect_response("**/turns"):
        await stage.start()
    await window.page.go_back()
    await window.sees("Fine.", times=2)
    await window.sees("The second", times=1)
    await window.sees_no("The third")


async def test_session_that_is_opened_without_the_server_says_so_and_comes_when_it_is_back(
    stage: Stage,
) -> None:
    stage.model.otherwise(say("Fine."))
    window = Window(await stage.page())
    page = window.page
    await window.say("Where are you?")
    await window.sees("Fine.")
    await window.is_idle()
    await page.goto(f"{stage.address}/")
    await expect(window.sessions).to_have_count(1)
    stage.expected_breaks = True
    await stage.kill()
    await window.sessions.first.click()
    main = page.get_by_role("main")
    await expect(main).to_contain_text("Roost can't be reached")
    await stage.start()
    await main.get_by_role("button", name="Retry").click()
    await window.sees("Fine.")
    await expect(main).not_to_contain_text("Roost can't be reached")


async def test_refused_setting_is_told_in_plain_words_until_it_is_put_right(stage: Stage) -> None:
    page = await stage.page()
    await page.goto(f"{stage.address}/settings/account")
    await expect(page).to_have_title("You - Settings - Roost")
    language = page.get_by_role("textbox", name="Language")
    await language.fill("!!!")
    await page.get_by_role("button", name="Save", exact=True).click()
    notice = page.get_by_role("main").get_by_role("alert")
    await expect(notice).to_contain_text("That was not accepted")
    assert "400" in stage.troubles.pop()
    await language.fill("en")
    await expect(notice).to_have_count(0)


async def test_what_is_changed_without_the_server_says_so_and_stays_as_it_was(
    stage: Stage,
) -> None:
    stage.model.plan(say("The first name"), model="small")
    stage.plan(say("Fine."))
    window = Window(await stage.page())
    page = window.page
    await window.say("Keep it")
    await expect(window.sessions.first).to_contain_text("The first name")
    await window.is_idle()
    await page.keyboard.press("Control+,")
    await page.get_by_role("link", name="Models").click()
    tools = page.get_by_role("combobox", name="Tools", exact=True)
    await tools.wait_for()
    stage.expected_breaks = True
    await stage.kill()

    await tools.select_option("chat")
    await expect(page.get_by_role("main")).to_contain_text("Nothing was changed")
    await expect(tools).to_have_value("")
    notices = page.get_by_label("Notices")
    await page.keyboard.press("Control+Shift+L")
    await expect(notices).to_contain_text("Roost can't be reached. Nothing was changed")
    await expect(page.locator("html")).to_have_attribute("data-theme", "light")
    await notices.get_by_role("button", name="Close").click()
    await window.sessions.first.press("F2")
    name = page.get_by_role("textbox", name="Title")
    await name.fill("Another name")
    await name.press("Enter")
    await expect(notices).to_contain_text("Nothing was changed")
    await expect(window.sessions.first).to_contain_text("The first name")
    await stage.start()
