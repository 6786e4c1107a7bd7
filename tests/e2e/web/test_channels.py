"""Channels as an owner sees to them in the page: set up, people let in, failures looked at."""

import re
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from roost.testing.models import say
from tests.e2e.web.axe import violations
from tests.e2e.web.stage import DESK, PHONE, TELEGRAM, Stage, staged
from tests.e2e.web.window import Window
from tests.fakes.telegram import TOKEN, FakeTelegram, fake_telegram


class Settings:
    """The page of the channels."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @property
    def dialog(self) -> Locator:
        return self.page.get_by_role("dialog")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    async def fill(self, label: str, value: str) -> None:
        await self.dialog.get_by_label(label, exact=True).fill(value)

    async def choose(self, menu: str, item: str) -> None:
        await self.button(f"Actions for {menu}").click()
        await self.page.get_by_role("menuitem", name=item, exact=True).click()

    async def sees(self, words: str | re.Pattern[str]) -> None:
        await expect(self.page.get_by_text(words).first).to_be_visible()

    async def add(self, telegram: FakeTelegram, token: str = TOKEN) -> None:
        await self.button("Add channel").first.click()
        await self.fill("Bot token", token)
        await self.dialog.get_by_text("Groups, new conversations and more").click()
        await self.fill("API address", telegram.url)
        await self.dialog.get_by_role("button", name="Save and connect").click()

    async def add_well(self, telegram: FakeTelegram) -> None:
        await self.add(telegram)
        await expect(self.dialog.get_by_text("Connected as @roost_bot.")).to_be_visible()
        await self.dialog.get_by_role("button", name="Done").click()

    async def let_in(self, code: str) -> None:
        await self.button("Let in").click()
        await self.fill("Code", code)
        await self.dialog.get_by_label("Code", exact=True).press("Enter")
        await expect(self.dialog).to_have_count(0)


async def opened(page: Page, stage: Stage) -> Settings:
    await page.goto(f"{stage.address}/settings/channels")
    return Settings(page)


async def code_of(telegram: FakeTelegram) -> str:
    """What someone unknown is told when they write."""
    await telegram.say("Hello?")
    await telegram.until(lambda: telegram.sent)
    found = re.search(r"[A-Z0-9]{4}-[A-Z0-9]{4}", telegram.sent[-1].text)
    assert found is not None
    return found[0]


async def test_owner_connects_a_bot_lets_someone_in_and_sees_where_they_talk(
    stage: Stage, telegram: FakeTelegram
) -> None:
    stage.model.otherwise(say("Hello, Ann."))
    settings = await opened(await stage.page(), stage)
    page = settings.page
    await settings.sees("No channels yet")
    await settings.add_well(telegram)
    code = await code_of(telegram)
    await settings.sees("Ann Lee")
    waits = page.get_by_role("link", name=re.compile("Channels 1 person waits"))
    await expect(waits).to_be_visible()
    await expect(settings.button("Settings: 1 person waits to be let in")).to_be_visible()
    await settings.let_in(code)
    await settings.sees("Ann Lee can talk to Roost on Telegram now, as owner.")
    await expect(waits).to_have_count(0)
    await telegram.say("Hello!")
    await telegram.until(lambda: any("Hello, Ann." in sent.text for sent in telegram.sent))
    row = page.get_by_role("link", name=re.compile("Talked in on Telegram · Ann Lee"))
    await row.click()
    await Window(page).sees("Hello, Ann.")
    await expect(page.get_by_text("Telegram · Ann Lee", exact=True).first).to_be_visible()


async def test_token_goes_in_and_never_comes_out(stage: Stage, telegram: FakeTelegram) -> None:
    settings = await opened(await stage.page(), stage)
    await settings.add_well(telegram)
    await settings.choose("telegram", "Edit")
    token = settings.dialog.get_by_label("Bot token", exact=True)
    await expect(token).to_have_value("")
    await expect(token).to_have_attribute("type", "password")
    await expect(settings.dialog.get_by_text("It is set.").first).to_be_visible()
    await settings.dialog.get_by_role("button", name="Save and connect").click()
    await expect(settings.dialog.get_by_text("Connected as @roost_bot.")).to_be_visible()
    assert TOKEN not in await settings.page.content()
    assert TOKEN not in str(await Window(settings.page).api("/api/channels"))


async def test_token_that_is_wrong_says_so_and_is_set_right_at_once(
    stage: Stage, telegram: FakeTelegram
) -> None:
    settings = await opened(await stage.page(), stage)
    await settings.add(telegram, "1:wrong")
    await expect(settings.dialog.get_by_text("but it does not connect")).to_be_visible()
    await expect(settings.dialog.get_by_text("Check the token")).to_be_visible()
    await settings.dialog.get_by_role("button", name="Edit").click()
    await settings.fill("Bot token", TOKEN)
    await settings.dialog.get_by_role("button", name="Save and connect").click()
    await expect(settings.dialog.get_by_text("Connected as @roost_bot.")).to_be_visible()


async def test_form_says_what_is_missing(stage: Stage) -> None:
    settings = await opened(await stage.page(), stage)
    await settings.button("Add channel").first.click()
    await settings.dialog.get_by_label("Platform").select_option("slack")
    await settings.dialog.get_by_role("button", name="Save and connect").click()
    await expect(settings.dialog.get_by_text("This is needed.")).to_have_count(1)
    await expect(settings.dialog.get_by_text("Give this or the other one.")).to_have_count(2)
    assert await Window(settings.page).api("/api/channels") == {
        "channels": [],
        "kinds": ["discord", "slack", "telegram", "webhook"],
    }


async def test_channel_is_paused_goes_on_and_is_removed(
    stage: Stage, telegram: FakeTelegram
) -> None:
    settings = await opened(await stage.page(), stage)
    await settings.add_well(telegram)
    await settings.choose("telegram", "Pause")
    await expect(settings.page.get_by_text("Paused", exact=True)).to_be_visible()
    await settings.choose("telegram", "Go on")
    await expect(settings.page.get_by_text("Connected", exact=True).last).to_be_visible()
    await settings.choose("telegram", "Remove")
    await settings.sees("No channels yet")
    await settings.button("Undo").click()
    await expect(settings.button("Actions for telegram")).to_be_visible()
    await settings.choose("telegram", "Remove")
    await settings.page.reload()
    await settings.sees("No channels yet")


async def test_person_is_blocked_and_unknown_again(stage: Stage, telegram: FakeTelegram) -> None:
    settings = await opened(await stage.page(), stage)
    await settings.add_well(telegram)
    await code_of(telegram)
    await settings.button("Block").click()
    await settings.sees("Telegram · is not answered")
    await settings.button("Unblock").click()
    await settings.sees("Nobody yet")


async def test_wrong_code_is_said_where_it_was_entered(
    stage: Stage, telegram: FakeTelegram
) -> None:
    settings = await opened(await stage.page(), stage)
    await settings.add_well(telegram)
    code = await code_of(telegram)
    await settings.button("Enter a code").click()
    await settings.fill("Code", "AAAA-AAAA")
    await settings.dialog.get_by_role("button", name="Let in").click()
    await expect(settings.dialog.get_by_role("alert")).to_be_visible()
    assert "404" in stage.troubles.pop()
    await settings.fill("Code", code.lower())
    await settings.dialog.get_by_role("button", name="Let in").click()
    await settings.sees("Telegram · speaks as owner")


async def test_channel_of_roost_toml_is_shown_and_left_alone(
    tmp_path: Path, browser: Browser, telegram: FakeTelegram
) -> None:
    config = TELEGRAM.format(token="1:wrong", api=telegram.url)  # noqa: S106
    async with staged(tmp_path, browser, config) as stage:
        settings = await opened(await stage.page(), stage)
        await settings.sees("From roost.toml: change it there")
        await settings.sees("It stands in roost.toml: set it right there, and restart Roost.")
        await expect(settings.button("Actions for telegram")).to_have_count(0)
    assert stage.troubles == []


async def test_lost_connection_is_told_and_comes_back_by_itself(
    tmp_path: Path, browser: Browser, port: int
) -> None:
    async with AsyncExitStack() as running:
        telegram = await running.enter_async_context(fake_telegram(port))
        config = TELEGRAM.format(token=TOKEN, api=telegram.url)
        async with staged(tmp_path, browser, config) as stage:
            settings = await opened(await stage.page(), stage)
            await settings.sees("Connected")
            await running.aclose()
            await settings.sees(re.compile("Reconnecting since"))
            await settings.sees("Roost tries again by itself.")
            async with fake_telegram(port):
                await expect(settings.page.get_by_text("Connected", exact=True).last).to_be_visible(
                    timeout=90_000
                )
        assert stage.troubles == []


async def test_what_was_not_delivered_is_shown_and_tried_again(
    tmp_path: Path, browser: Browser, telegram: FakeTelegram
) -> None:
    config = TELEGRAM.format(token=TOKEN, api=telegram.url)
    async with staged(tmp_path, browser, config) as stage:
        stage.model.otherwise(say("An answer that nobody got."))
        telegram.blocked.add(42)
        settings = await opened(await stage.page(), stage)
        await telegram.say("Hello?")
        await settings.sees("An answer that nobody got.")
        await settings.sees(re.compile("blocked by the user"))
        telegram.blocked.clear()
        await settings.button("Try again").click()
        await telegram.until(lambda: telegram.sent)
        assert "An answer that nobody got." in telegram.sent[-1].text
        await expect(settings.button("Try again")).to_have_count(0)
    assert stage.troubles == []


async def test_member_sees_only_what_is_theirs(stage: Stage) -> None:
    await stage.add_user("bob")
    settings = await opened(await stage.page(user="bob"), stage)
    await settings.sees("You talk to Roost only here so far")
    await expect(settings.button("Add channel")).to_have_count(0)
    await expect(settings.button("Enter a code")).to_have_count(0)


@pytest.mark.parametrize(
    ("size", "dark"), [(DESK, False), (PHONE, True)], ids=["desk-light", "phone-dark"]
)
async def test_channels_have_nothing_serious(
    stage: Stage, telegram: FakeTelegram, size: tuple[int, int], dark: bool
) -> None:
    settings = await opened(await stage.page(size=size, dark=dark), stage)
    page = settings.page
    await page.emulate_media(reduced_motion="reduce")
    await settings.add_well(telegram)
    await code_of(telegram)
    await settings.sees("Ann Lee")
    assert await violations(page) == []
    await settings.button("Let in").click()
    assert await violations(page) == []
    await settings.dialog.get_by_role("button", name="Cancel").click()
    await settings.button("Add channel").click()
    await settings.dialog.get_by_text("Groups, new conversations and more").click()
    assert await violations(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
