"""The scripted model server as a process: `python -m roost.testing.models --script FILE.json`."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

import uvloop

from roost.testing.models.control import RemoteModelServer
from roost.testing.models.script import Script, decode_script


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m roost.testing.models", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--script", type=Path, help="a JSON file; without it, requests are echoed")
    arguments = parser.parse_args()
    script = decode_script(arguments.script.read_bytes()) if arguments.script else Script()
    uvloop.run(_serve(arguments.port, script))


async def _serve(port: int, script: Script) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with RemoteModelServer(port=port) as server:
        server.follow(script)
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    main()
