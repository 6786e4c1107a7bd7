"""The page: what a long answer in a long session costs the browser, as the browser traces it."""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
from playwright.async_api import Browser, Page, async_playwright

from bench.engine.rig import scripted
from bench.report import RESULTS, Figure, at_most
from bench.server.client import Client, client_of
from bench.server.process import Server, started
from bench.timing import Samples
from roost.core.ids import SessionId
from roost.testing.models.script import Say, Script
from roost.workspace.browser import executable

HISTORY = 2000
TOKENS = 10_000
PACE = 0.001
TURNS = 20
WARM = 5
_SENTENCE = " ".join(["The owl told it again, word for word, as it had been told before."] * 4)
_LONG = "\n\n".join([_SENTENCE] * (TOKENS // len(_SENTENCE.split())))
_CATEGORIES = ["toplevel", "devtools.timeline", "__metadata"]
_SCRIPTS = frozenset(
    {"FunctionCall", "EvaluateScript", "RunMicrotasks", "FireAnimationFrame", "TimerFire"}
)
# From the key that sends until the frame is drawn that has the answer's first word. What comes is
# shown in the callback of a frame, so that frame is drawn before the next task.
_FIRST_PAINT = """() => new Promise((resolve) => {
  let sent = 0;
  const before = document.querySelector('[role=log]').textContent.length;
  addEventListener('keydown', () => { sent = performance.now(); }, { capture: true, once: true });
  const seen = new MutationObserver(() => {
    const text = document.querySelector('[role=log]').textContent;
    if (!text.slice(before).includes('word')) return;
    seen.disconnect();
    setTimeout(() => resolve(performance.now() - sent));
  });
  seen.observe(document.body, { childList: true, subtree: true, characterData: true });
})"""


class _Event(msgspec.Struct):
    """One of a trace, as Chromium writes it; times are microseconds."""

    name: str
    ph: str
    pid: int
    tid: int
    ts: float = 0
    dur: float = 0
    args: dict[str, object] = {}


class _Trace(msgspec.Struct):
    traceEvents: list[_Event]  # noqa: N815 (theirs)


def measure(tell: Callable[[str], None]) -> Sequence[Figure]:
    RESULTS.mkdir(exist_ok=True)
    script = Script(replies=(Say(text=_LONG, pace=PACE),), otherwise=Say(text=" word" * 9))
    script = msgspec.structs.replace(script, model="long")
    with (
        tempfile.TemporaryDirectory(dir=RESULTS, prefix="scratch-") as folder,
        scripted(script) as url,
        started(Path(folder), url) as server,
    ):
        return asyncio.run(_measured(server, tell))


async def _measured(server: Server, tell: Callable[[str], None]) -> list[Figure]:
    chromium = executable(os.environ)
    assert chromium is not None, "there is no Chromium"
    async with async_playwright() as playwright, client_of(server) as client:
        browser = await playwright.chromium.launch(
            executable_path=chromium, chromium_sandbox=os.geteuid() != 0
        )
        tell("first token")
        figures = await _first_token(server, client, browser)
        tell("streaming")
        figures += await _streaming(server, client, browser)
        await browser.close()
    return figures


async def _page(server: Server, browser: Browser, session: SessionId) -> Page:
    """Signed in as a program is: that changes nothing of what is measured."""
    context = await browser.new_context(
        extra_http_headers={"Authorization": f"Bearer {server.token}"}
    )
    page = await context.new_page()
    await page.goto(f"{server.url}/s/{session}")
    await page.get_by_role("textbox", name="Message", exact=True).wait_for()
    return page


async def _first_token(server: Server, client: Client, browser: Browser) -> list[Figure]:
    session = await client.session("plain")
    page = await _page(server, browser, session)
    painted: list[float] = []
    directly: list[float] = []
    for number in range(-WARM, TURNS):
        shown = await _painted(page)
        told = await _told(client, session)
        if number >= 0:
            painted.append(shown)
            directly.append(told)
    added = Samples([one - other for one, other in zip(painted, directly, strict=True)])
    return [
        Figure(
            name="from the key to the first painted word, over the API's own time, p50",
            value=added.p50,
            unit="ms",
            limit=Samples(directly).p50,
            against="the same to a client without a page",
            target=at_most(30),
        )
    ]


async def _painted(page: Page) -> float:
    composer = page.get_by_role("textbox", name="Message", exact=True)
    await composer.fill("Go on")
    painted = asyncio.create_task(page.evaluate(_FIRST_PAINT))
    await page.evaluate("() => new Promise(requestAnimationFrame)")  # it listens
    await composer.press("Enter")
    shown = float(await painted) / 1000
    await page.get_by_role("button", name="Stop", exact=True).wait_for(state="detached")
    return shown


async def _told(client: Client, session: SessionId) -> float:
    first = 0.0
    async with client.watch(session) as events:
        began = time.perf_counter()
        sending = asyncio.create_task(client.send(session))
        async for seen in events:
            if seen.text and not first:
                first = time.perf_counter() - began
            if seen.over:
                break
        await sending
    return first


async def _streaming(server: Server, client: Client, browser: Browser) -> list[Figure]:
    session = await client.session("plain")
    async with client.watch(session) as events:
        for _ in range(HISTORY // 2):
            await client.send(session, "Go on")  # few words: each turn sends all of them
            async for seen in events:
                if seen.over:
                    break
    page = await _page(server, browser, session)
    body = msgspec.json.encode({"model": "bench/long"}).decode()
    await page.evaluate(
        """([session, body]) => fetch(`/api/sessions/${session}`, {
          method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body })""",
        [session, body],
    )
    composer = page.get_by_role("textbox", name="Message", exact=True)
    await composer.fill("Tell it all")
    await browser.start_tracing(page=page, categories=_CATEGORIES)
    await composer.press("Enter")
    stop = page.get_by_role("button", name="Stop", exact=True)
    await stop.wait_for()
    await stop.wait_for(state="detached", timeout=120_000)
    trace = msgspec.json.decode(await browser.stop_tracing(), type=_Trace)
    main = _main_thread(trace.traceEvents)
    longest = max([event.dur for event in main if event.name.endswith("RunTask")])
    return [
        Figure(
            name=f"{TOKENS:,} tokens into {HISTORY:,} messages: longest task of the page",
            value=longest / 1000,
            unit="ms",
            target=at_most(100),
        ),
        Figure(
            name="the same, scripting per token",
            value=_scripting(main) / TOKENS / 1000,
            unit="ms",
            target=at_most(0.5),
        ),
    ]


def _main_thread(events: Iterable[_Event]) -> list[_Event]:
    """What the page's own thread did, in order: it is the one that did most."""
    by_thread: dict[tuple[int, int], list[_Event]] = {}
    for event in events:
        if event.ph == "X":
            by_thread.setdefault((event.pid, event.tid), []).append(event)
    main = max(by_thread.values(), key=lambda each: sum(e.name in _SCRIPTS for e in each))
    return sorted(main, key=lambda event: (event.ts, -event.dur))


def _scripting(events: Iterable[_Event]) -> float:
    """Microseconds in scripts; what runs inside of another is counted once."""
    total, until = 0.0, 0.0
    for event in events:
        if event.name in _SCRIPTS and event.ts >= until:
            total += event.dur
            until = event.ts + event.dur
    return total
