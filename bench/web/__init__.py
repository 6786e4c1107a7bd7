"""The page's part: a real Chromium at a real `roost run`, whose model keeps to a script."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from playwright.async_api import async_playwright

from bench.engine.rig import scripted
from bench.report import RESULTS, Figure
from bench.server.client import client_of
from bench.server.process import Server, started
from bench.web import first, streaming
from bench.web.page import Browsing
from roost.workspace.browser import executable

LONGEST = 170
"""Seconds: whatever waits for something that does not come, ends."""


def measure(tell: Callable[[str], None]) -> Sequence[Figure]:
    RESULTS.mkdir(exist_ok=True)
    cores = os.sched_getaffinity(0)
    with (
        tempfile.TemporaryDirectory(dir=RESULTS, prefix="scratch-") as folder,
        scripted(streaming.SCRIPT) as url,
        started(Path(folder), url) as server,
    ):
        # A browser is many processes: it gets all that there is, as on a desk.
        os.sched_setaffinity(0, cores)
        return asyncio.run(_measured(server, tell))


async def _measured(server: Server, tell: Callable[[str], None]) -> list[Figure]:
    chromium = executable(os.environ)
    assert chromium is not None, "there is no Chromium"
    doing = "starting"

    def told(what: str) -> None:
        nonlocal doing
        doing = what
        tell(what)

    try:
        async with (
            asyncio.timeout(LONGEST),
            async_playwright() as playwright,
            client_of(server) as client,
            await playwright.chromium.launch(
                executable_path=chromium, chromium_sandbox=os.geteuid() != 0
            ) as browser,
        ):
            browsing = Browsing(server, client, browser, told)
            return [*await first.measure(browsing), *await streaming.measure(browsing)]
    except TimeoutError as error:
        raise TimeoutError(f"{doing}: not done after {LONGEST} s") from error
