"""Schedules as a person keeps them in the page."""

import re

import pytest
from playwright.async_api import Locator, Page, expect

from roost.testing.models import say
from tests.e2e.web.axe import violations
from tests.e2e.web.stage import DESK, PHONE, Stage
from tests.e2e.web.window import Window


class Settings:
    """The page of the schedules."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @property
    def dialog(self) -> Locator:
        return self.page.get_by_role("dialog")

    @property
    def ahead(self) -> Locator:
        """The next runs, as the form says them."""
        return self.dialog.get_by_role("status").get_by_role("listitem")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    async def sees(self, words: str | re.Pattern[str]) -> None:
        await expect(self.page.get_by_text(words).first).to_be_visible()

    async def fill(self, label: str, value: str) -> None:
        await self.dialog.get_by_label(label, exact=True).fill(value)

    async def choose(self, item: str) -> None:
        await self.button("Actions for News").click()
        await self.page.get_by_role("menuitem", name=item, exact=True).click()

    async def begin(self) -> None:
        await self.button("New schedule").first.click()
        await self.fill("Name", "News")
        await self.fill("What to do", "What is new about herons?")

    async def save(self) -> None:
        await self.dialog.get_by_role("button", name="Save").click()
        await expect(self.dialog).to_have_count(0)


async def opened(page: Page, stage: Stage) -> Settings:
    await page.goto(f"{stage.address}/settings/schedules")
    return Settings(page)


async def test_schedule_is_made_run_paused_changed_and_removed(stage: Stage) -> None:
    stage.model.otherwise(say("The herons are back."))
    settings = await opened(await stage.page(), stage)
    page = settings.page
    await settings.sees("Nothing is scheduled")
    await settings.begin()
    await settings.dialog.get_by_label("When").select_option("weekdays")
    await settings.fill("Time", "07:30")
    await expect(settings.ahead).to_have_count(3)
    await settings.save()
    await settings.sees(re.compile(r"Monday to Friday at 0?7:30.* · next "))
    await settings.sees("It has not run yet.")
    await settings.button("Run now").click()
    await settings.sees("News runs now.")
    await expect(page.get_by_text("done", exact=True)).to_be_visible()
    await settings.choose("Pause")
    await expect(page.get_by_text("Paused", exact=True)).to_be_visible()
    await expect(page.get_by_text(re.compile("next "))).to_have_count(0)
    await settings.choose("Go on")
    await settings.sees(re.compile("next "))
    await settings.choose("Edit")
    await expect(settings.dialog.get_by_label("Time", exact=True)).to_have_value("07:30")
    await settings.dialog.get_by_label("When").select_option("every")
    await settings.dialog.get_by_label("Unit").select_option("m")
    await settings.fill("Every", "30")
    await settings.save()
    await settings.sees("Every 30 minutes")
    await page.get_by_role("link", name=re.compile("Open the session of")).click()
    await Window(page).sees("The herons are back.")
    await page.go_back()
    await settings.choose("Remove")
    await settings.sees("Nothing is scheduled")
    await page.reload()
    await settings.sees("Nothing is scheduled")


async def test_form_says_what_would_never_run_before_it_is_saved(stage: Stage) -> None:
    settings = await opened(await stage.page(), stage)
    await settings.begin()
    when = settings.dialog.get_by_label("When")
    await when.select_option("once")
    await settings.fill("Date and time", "2001-01-01T09:00")
    await expect(settings.dialog.get_by_text("It would never run")).to_be_visible()
    await when.select_option("cron")
    await settings.fill("Cron expression", "0 9 * * someday")
    await expect(settings.dialog.get_by_text("someday").first).to_be_visible()
    assert "400" in stage.troubles.pop()
    await settings.fill("Cron expression", "*/15 * * * *")
    await expect(settings.ahead).to_have_count(3)
    await settings.save()
    await settings.sees("By cron: */15 * * * *")


async def test_keyboard_alone_makes_a_schedule(stage: Stage) -> None:
    page = await stage.page()
    settings = await opened(page, stage)
    await settings.sees("Nothing is scheduled")
    await settings.button("New schedule").first.focus()
    await page.keyboard.press("Enter")
    await expect(settings.dialog.get_by_label("Name", exact=True)).to_be_focused()
    await page.keyboard.type("News")
    await page.keyboard.press("Tab")
    await page.keyboard.type("What is new?")
    await settings.dialog.get_by_label("Name", exact=True).press("Enter")
    await expect(settings.dialog).to_have_count(0)
    await settings.sees(re.compile("Every day at 0?9:00"))


@pytest.mark.parametrize(
    ("size", "dark"), [(DESK, False), (PHONE, True)], ids=["desk-light", "phone-dark"]
)
async def test_schedules_have_nothing_serious(
    stage: Stage, size: tuple[int, int], dark: bool
) -> None:
    stage.model.otherwise(say("The herons are back."))
    settings = await opened(await stage.page(size=size, dark=dark), stage)
    page = settings.page
    await page.emulate_media(reduced_motion="reduce")
    await settings.begin()
    await settings.dialog.get_by_text("Where answers go, session, model").click()
    await expect(settings.ahead).to_have_count(3)
    assert await violations(page) == []
    await settings.save()
    await settings.button("Run now").click()
    await expect(page.get_by_text("done", exact=True)).to_be_visible()
    assert await violations(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
