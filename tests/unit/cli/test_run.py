"""The two signals: the first asks, the second ends."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE

SLOW_TO_STOP = """
import asyncio
from roost.cli.run import set_on_signal

async def main() -> None:
    stop = asyncio.Event()
    set_on_signal(stop)
    print("ready", flush=True)
    await stop.wait()
    print("asked", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_second_signal_ends_it_at_once() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SLOW_TO_STOP, stdout=PIPE, stderr=PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(60):
        assert await process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert await process.stdout.readline() == b"asked\n"
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
    assert (process.returncode, err) == (-signal.SIGINT, b"")
