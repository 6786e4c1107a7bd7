"""Runs a Roost with a channel until it is killed.

`python -m tests.faults.channel_process FOLDER` imports everything, and for every line of orders on
its standard input forks one, which says `born PID`; when that is dead, `died`.
"""

import asyncio
import os
import sys
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import msgspec
import structlog
import uvloop

from roost.core.config import ChannelConfig, Config, ModelsConfig, ProviderConfig, ServerConfig
from roost.core.keys import Key
from roost.core.settings import BaseUrl
from roost.testing import faults
from roost.wiring import running
from tests.fakes.discord_server import led_to
from tests.faults.channel_platform import NAME, PostChannel

CHATS = 6


class Orders(msgspec.Struct, frozen=True):
    """`channel` is its kind, and its name."""

    model: str
    channel: str
    options: dict[str, str]
    faults: str = ""


def config_of(folder: Path, orders: Orders) -> Config:
    provider = ProviderConfig(
        vendor="compatible", base_url=BaseUrl(orders.model), models=("model", "small")
    )
    given = {**orders.options}
    if orders.channel == "discord":
        del given["api"]  # see `live`
    options = {name: Key(value) for name, value in given.items()}
    allow = tuple([str(chat) for chat in range(CHATS)])
    return Config(
        data=folder / "data",
        server=ServerConfig(grace=timedelta(0)),
        models=ModelsConfig(default="test/model", small="test/small"),
        providers={"test": provider},
        channels={orders.channel: ChannelConfig(allow=allow, options=options)},
    )


async def live(folder: Path, orders: Orders) -> None:
    config = config_of(folder, orders)
    # discord.py knows one address for all of a process.
    discord = led_to(orders.options["api"]) if orders.channel == "discord" else nullcontext()
    with discord:
        async with running(config, {}, {}, channels={NAME: PostChannel}):
            await asyncio.Event().wait()


def main() -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    folder = Path(sys.argv[1])
    for line in sys.stdin.buffer:
        orders = msgspec.json.decode(line, type=Orders)
        if (pid := os.fork()) == 0:
            faults.arm_from_environment({"ROOST_FAULTS": orders.faults})
            uvloop.run(live(folder, orders))
            os._exit(0)
        _say(f"born {pid}")
        os.waitpid(pid, 0)
        _say("died")


def _say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


if __name__ == "__main__":
    main()
