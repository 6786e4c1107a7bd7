"""Who signs in, how, and what of the page is theirs."""

from playwright.async_api import Page, expect

from roost.testing.models import say
from tests.e2e.web.stage import Stage
from tests.e2e.web.window import Window

WORDS = "correct horse"


async def _sign_in(page: Page, name: str, password: str) -> None:
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Password").fill(password)
    await page.get_by_label("Password").press("Enter")


async def _ask_to_sign_out(page: Page) -> None:
    await page.get_by_role("button", name="account menu").click()
    await page.get_by_role("menuitem", name="Sign out").click()


async def _sign_out(page: Page) -> None:
    await _ask_to_sign_out(page)
    await page.get_by_role("heading", name="Sign in to Roost").wait_for()


async def test_password_signs_in_once_it_is_set_and_a_wrong_one_does_not(stage: Stage) -> None:
    window = Window(await stage.page())
    page = window.page
    await window.button("Set a password").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("New password").fill(WORDS)
    await dialog.get_by_label("New password").press("Enter")
    await expect(dialog).to_have_count(0)
    await _sign_out(page)
    await _sign_in(page, "owner", "wrong horse")
    await expect(page.get_by_text("The name or the password is not right.")).to_be_visible()
    assert "403" in stage.troubles.pop()
    await _sign_in(page, "owner", WORDS)
    await expect(window.composer).to_be_focused()


async def test_who_signs_in_next_sees_nothing_of_the_one_before(stage: Stage) -> None:
    stage.model.otherwise(say("The owl sleeps."))
    window = Window(await stage.page())
    page = window.page
    await window.say("A secret of the owner's")
    await window.sees("The owl sleeps.")
    session = await window.session()
    await window.composer.fill("Another secret, half written")
    await _ask_to_sign_out(page)
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("This browser keeps 1 draft")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(window.composer).to_have_value("Another secret, half written")
    await _ask_to_sign_out(page)
    await dialog.get_by_role("button", name="Sign out and delete").click()
    await page.get_by_role("heading", name="Sign in to Roost").wait_for()
    assert "secret" not in await page.content()
    assert "secret" not in await page.evaluate("() => JSON.stringify(localStorage)")
    await page.goto(await stage.add_user("bob"))
    await expect(window.composer).to_have_value("")
    await expect(page.get_by_text("No sessions yet")).to_be_visible()
    await page.goto(f"{stage.address}/s/{session}")
    await expect(page.get_by_text("This session")).to_be_visible()
    assert "404" in stage.troubles.pop()
    assert "secret" not in await page.content()


async def test_member_has_no_pages_of_an_admins(stage: Stage) -> None:
    await stage.add_user("bob")
    window = Window(await stage.page(user="bob"))
    page = window.page
    await expect(window.button("Add a provider")).to_have_count(0)
    await page.goto(f"{stage.address}/settings/users")
    await expect(page.get_by_role("heading", name="Models of the server")).to_be_visible()
    await expect(page.get_by_role("link", name="Users")).to_have_count(0)
    await expect(page.get_by_role("heading", name="Providers")).to_have_count(0)
    await expect(page.get_by_label("Default model")).to_be_disabled()
    await expect(page.get_by_text("roost.toml")).to_have_count(0)
    await page.goto(f"{stage.address}/settings/about")
    await expect(page.get_by_text("Version", exact=True)).to_be_visible()
    await expect(page.get_by_role("heading", name="Doctor")).to_have_count(0)


async def test_used_link_says_how_to_get_another(stage: Stage) -> None:
    link = await stage.link()
    first = await stage.page(signed_in=False)
    await first.goto(link)
    await expect(Window(first).composer).to_be_visible()
    second = await stage.page(signed_in=False)
    await second.goto(link)
    await expect(second.get_by_text("This link can't be used")).to_be_visible()
    await expect(second.get_by_text("roost user link")).to_be_visible()
    assert "403" in stage.troubles.pop()


async def test_keyboard_alone_leads_from_signing_in_to_an_answer(stage: Stage) -> None:
    stage.plan(say("Found you."))
    page = await stage.page()
    body = {"method": "PUT", "body": f'{{"new": "{WORDS}"}}'}
    headers = {"Content-Type": "application/json"}
    await page.evaluate("(given) => fetch('/api/me/password', given)", {**body, "headers": headers})
    window = Window(await stage.page(signed_in=False))
    keyboard = window.page.keyboard
    await window.page.goto(stage.address)
    await expect(window.page.get_by_label("Name")).to_be_focused()
    await keyboard.type("owner")
    await keyboard.press("Tab")
    await keyboard.type(WORDS)
    await keyboard.press("Enter")
    await expect(window.composer).to_be_focused()
    await keyboard.type("Where am I?")
    await keyboard.press("Enter")
    await window.sees("Found you.")
