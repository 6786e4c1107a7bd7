"""A page as a person uses it: by what can be seen, and by the names that a screen reader says."""

import asyncio
import re

from playwright.async_api import Locator, Page, expect

SECONDS = 60


class Window:
    def __init__(self, page: Page) -> None:
        self.page = page

    # What is there.

    @property
    def composer(self) -> Locator:
        return self.page.get_by_role("textbox", name="Message", exact=True)

    @property
    def conversation(self) -> Locator:
        return self.page.get_by_label("Conversation", exact=True)

    def turn(self, words: str) -> Locator:
        """What a person said that begins so, and all that came of it."""
        return self.conversation.get_by_role("article", name=f"You: {words}")

    @property
    def sessions(self) -> Locator:
        """The rows of the sidebar's list."""
        return self.page.get_by_role("navigation").get_by_role("link")

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("button", name=name, exact=isinstance(name, str))

    # What a person does.

    async def say(self, words: str) -> None:
        await self.composer.fill(words)
        await self.composer.press("Enter")

    async def sees(self, words: str | re.Pattern[str], *, times: int | None = None) -> None:
        found = self.conversation.get_by_text(words)
        if times is None:
            await expect(found.first).to_be_visible()
        else:
            await expect(found).to_have_count(times)

    async def sees_no(self, words: str) -> None:
        await expect(self.conversation.get_by_text(words)).to_have_count(0)

    async def is_idle(self) -> None:
        """Nothing streams, nothing waits."""
        await expect(self.button("Stop")).to_have_count(0)

    async def new_chat(self) -> None:
        await self.button("New chat").first.click()
        await self.page.wait_for_url(re.compile(r"/$"))

    async def session(self) -> str:
        """The id of the session that is shown."""
        await self.page.wait_for_url(re.compile(r"/s/ses_"))
        return self.page.url.rpartition("/")[2]

    async def finds(self, words: str) -> None:
        """Wait until they can be found: what is said is indexed after it is stored."""
        async with asyncio.timeout(SECONDS):
            while "msg_" not in str(await self.api(f"/api/search?words={words}")):
                pass

    async def scrolls_to(self, there: Locator, by: int) -> None:
        """With the wheel, until that is on the page: what is further on comes only then."""
        async with asyncio.timeout(SECONDS):
            while not await there.is_visible():
                await self.page.mouse.wheel(0, by)

    async def api(self, path: str) -> object:
        """What the server has, as this browser may read it."""
        return await self.page.evaluate(
            "(path) => fetch(path).then((answer) => answer.json())", path
        )
