"""Holds a browser with a page until it is killed, or told to end by SIGTERM.

`python -m tests.faults.browser_process FOLDER` says `ready` when the page is there.
"""

import asyncio
import signal
import sys
from pathlib import Path

from tests.browsing import browsing


async def main(folder: Path) -> None:
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    async with browsing(folder) as browser:
        browser.site.page("/", "<h1>Here</h1>")
        await browser("open", url="http://example.com/")
        print("ready", flush=True)  # noqa: T201
        await end.wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
