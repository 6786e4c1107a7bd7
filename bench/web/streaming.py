"""What a long answer costs the page of a long session, as Chromium traces it."""

import statistics
from collections.abc import Callable, Sequence

from playwright.async_api import Page

from bench.report import Figure, at_most, times_at_most
from bench.web.history import document
from bench.web.page import Browsing, composer, stop
from bench.web.trace import CATEGORIES, Work, work
from roost.core.ids import SessionId
from roost.testing.models.script import Say, Script

HISTORY = 2000
TOKENS = 10_000
PACE = 0.001
ANSWERS = 3
LONGEST_ANSWER = 45
"""Seconds."""
_SENTENCE = " ".join(["The owl told it again, word for word, as it had been told before."] * 4)
_LONG = "\n\n".join([_SENTENCE] * (TOKENS // len(_SENTENCE.split())))
SCRIPT = Script(
    replies=(Say(text=_LONG, pace=PACE),) * ANSWERS, otherwise=Say(text=" word" * 9), model="long"
)
_FIRST_MESSAGE = """async (session) => {
  const page = await fetch(`/api/sessions/${session}/messages?before=2&limit=1`);
  return (await page.json()).messages[0].id;
}"""

_CHOOSE = """([session, body]) => fetch(`/api/sessions/${session}`, {
  method: 'PATCH',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})"""


async def measure(browsing: Browsing) -> list[Figure]:
    browsing.tell(f"a session of {HISTORY:,} messages")
    session = await browsing.client.take(document(HISTORY))
    async with browsing.page(session) as page:
        await page.evaluate(_CHOOSE, [session, {"model": "bench/long"}])
        await _read_all(page, session)
        seen: list[Work] = []
        for number in range(ANSWERS):
            browsing.tell(f"{TOKENS:,} tokens, answer {number + 1} of {ANSWERS}")
            seen.append(await _answer(browsing, page))
    return _figures(seen)


async def _read_all(page: Page, session: SessionId) -> None:
    """As someone does who looks up the first message and comes back: the page has them all then."""
    first = await page.evaluate(_FIRST_MESSAGE, session)
    await page.goto(f"{page.url}?m={first}")
    await page.locator(f'[data-message="{first}"]').wait_for()
    await page.get_by_role("button", name="Jump to the newest message").click()
    await page.locator("article.newest").wait_for()


async def _answer(browsing: Browsing, page: Page) -> Work:
    await composer(page).fill("Tell it all")
    await browsing.browser.start_tracing(page=page, categories=list(CATEGORIES))
    await composer(page).press("Enter")
    await stop(page).wait_for()
    await stop(page).wait_for(state="detached", timeout=LONGEST_ANSWER * 1000)
    traced = await browsing.browser.stop_tracing()
    shown = await page.locator("article.newest").inner_text()
    assert shown.count(_SENTENCE) == _LONG.count(_SENTENCE), "not all of the answer is shown"
    return work(traced)


def _figures(seen: Sequence[Work]) -> list[Figure]:
    """Of several answers the one in the middle; what the thread ran, whoever else was busy."""

    def middle(of: Callable[[Work], float]) -> float:
        return statistics.median(of(each) for each in seen) / 1000

    return [
        Figure(
            name=f"{TOKENS:,} tokens into {HISTORY:,} messages: longest task, its thread's time",
            value=middle(lambda each: each.longest),
            unit="ms",
            target=at_most(100),
        ),
        Figure(
            name="the same, by the clock",
            value=middle(lambda each: each.longest_by_clock),
            unit="ms",
            target=at_most(100),
        ),
        Figure(
            name="the same, scripting per token, the thread's time",
            value=middle(Work.scripting) / TOKENS,
            unit="ms",
            target=at_most(0.5),
        ),
        Figure(
            name="the same, in the last quarter of the answer",
            value=middle(lambda each: each.scripting(since=0.75)) / TOKENS * 4,
            unit="ms",
            limit=middle(lambda each: each.scripting(until=0.25)) / TOKENS * 4,
            against="in the first quarter",
            target=times_at_most(2),
        ),
    ]
