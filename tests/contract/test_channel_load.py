"""A backlog over many chats: answered in order, within the limits, with little of it in memory."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from roost.channels.base import Channel, Limits, Options, Piece, Rate
from roost.channels.hosting import hosted
from roost.channels.registry import Registry
from roost.core.config import ChannelConfig
from roost.testing.models import ModelServer, echo
from tests.chatting import Chat
from tests.small_channel import LIMITS, SmallChannel

ROUTES, EACH = 60, 10
CHAT, OVERALL = Rate(2, 0.5), Rate(50, 0.25)


class Watched(SmallChannel):
    """It notes when it was called, and how much went on at that moment."""

    calls: list[tuple[float, str]]
    tasks: list[int]

    async def deliver(self, to: str, piece: Piece, *, key: str) -> str:
        self.calls.append((time.monotonic(), to))
        self.tasks.append(len(asyncio.all_tasks()))
        return await super().deliver(to, piece, key=key)


async def test_backlog_drains_in_order_within_the_limits(folder: Path, server: ModelServer) -> None:
    calls: list[tuple[float, str]] = []
    tasks: list[int] = []

    def make(name: str, options: Options) -> Channel:
        channel = Watched(chat.platform, name=name, limits=_limits())
        channel.calls, channel.tasks = calls, tasks
        return channel

    config = ChannelConfig(allow=tuple(map(str, range(ROUTES))))
    chat = Chat(folder, server, config=config)
    server.otherwise(echo())
    for number in range(ROUTES * EACH):
        await chat.platform.say(f"{number}", sender=str(number % ROUTES))
    await chat.engine.start()
    try:
        async with hosted(chat.engine.app, Registry({"small": make})):
            await chat.platform.until_posts(ROUTES * EACH, seconds=150)
    finally:
        await chat.engine.stop()
    for route in range(ROUTES):
        wanted = [str(number) for number in range(route, ROUTES * EACH, ROUTES)]
        texts = chat.platform.texts(f"small:dm:{route}")
        assert [text.splitlines()[-1] for text in texts] == wanted
    _check(OVERALL, [at for at, _ in calls])
    by_chat: defaultdict[str, list[float]] = defaultdict(list)
    for at, to in calls:
        by_chat[to].append(at)
    for times in by_chat.values():
        _check(CHAT, times)
    # A few for each chat that has a turn, none for what waits.
    assert max(tasks) < ROUTES * EACH / 2


def _limits() -> Limits:
    return Limits(
        text=LIMITS.text,
        chat=CHAT,
        overall=OVERALL,
        edit_every=None,
        file_in=0,
        file_out=0,
        keyed=True,
    )


def _check(rate: Rate, times: Sequence[float]) -> None:
    """Calls are noted a little after their turn, and that is longer where others have the processor
    in between: then the next ones seem to follow sooner than they do."""
    for first, beyond in zip(times, times[rate.count :], strict=False):
        assert beyond - first >= 0.9 * rate.seconds
