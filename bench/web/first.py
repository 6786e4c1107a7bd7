"""How much later than a client's first word one is painted, from the key that sends."""

import asyncio
import time

from playwright.async_api import Page

from bench.report import Figure, at_most
from bench.server.client import Client
from bench.timing import Samples
from bench.web.page import Browsing, composer, stop
from roost.core.ids import SessionId

TURNS = 50
WARM = 10
# From the key that sends until the frame is drawn that has the answer's first word, in a turn that
# was not there before. When it has drawn something, the browser looks whether that is seen.
_FIRST_PAINT = """() => new Promise((resolve) => {
  let sent = 0;
  const newest = () => document.querySelector('[role=log] article:last-of-type');
  const before = newest()?.dataset.key;
  addEventListener('keydown', () => { sent = performance.now(); }, { capture: true, once: true });
  const seen = new MutationObserver(() => {
    const turn = newest();
    if (!turn || turn.dataset.key === before || !turn.textContent.includes('word')) return;
    seen.disconnect();
    const drawn = new IntersectionObserver(([entry]) => {
      drawn.disconnect();
      resolve(entry.time - sent);
    });
    drawn.observe(turn);
  });
  seen.observe(document.body, { childList: true, subtree: true, characterData: true });
})"""


async def measure(browsing: Browsing) -> list[Figure]:
    client = browsing.client
    shown, unseen = await client.session("plain"), await client.session("plain")
    painted = Samples()
    directly = Samples()
    async with browsing.page(shown) as page:
        for number in range(-WARM, TURNS):
            browsing.tell(f"first word, {max(number, 0)} of {TURNS}")
            pair = await _painted(page), await _told(client, unseen)
            if number >= 0:
                painted.seconds.append(pair[0])
                directly.seconds.append(pair[1])
    pairs = zip(painted.seconds, directly.seconds, strict=True)
    return [
        Figure(
            name="from the key to the first painted word, over the API's own time, p50",
            value=Samples([one - other for one, other in pairs]).p50,
            unit="ms",
            limit=directly.p50,
            against="the same to a client without a page",
            target=at_most(30),
        ),
        Figure(
            name="the same, by the quickest tenth of each",
            value=painted.at(0.1) - directly.at(0.1),
            unit="ms",
        ),
    ]


async def _painted(page: Page) -> float:
    await composer(page).fill("Go on")
    painted = asyncio.create_task(page.evaluate(_FIRST_PAINT))
    await page.evaluate("() => new Promise(requestAnimationFrame)")  # it listens
    await composer(page).press("Enter")
    shown = float(await painted) / 1000
    await stop(page).wait_for(state="detached")
    return shown


async def _told(client: Client, session: SessionId) -> float:
    first = 0.0
    async with client.watch(session) as events:
        began = time.perf_counter()
        sending = asyncio.create_task(client.send(session, "Go on"))
        async for seen in events:
            if seen.text and not first:
                first = time.perf_counter() - began
            if seen.over:
                break
        await sending
    return first
