"""A platform's rates are kept, in every stretch of time."""

import asyncio

import msgspec

from roost.channels.base import Rate
from roost.channels.pace import Pace
from tests.small_channel import LIMITS


def paced(*, chat: Rate, overall: Rate) -> Pace:
    return Pace(msgspec.structs.replace(LIMITS, chat=chat, overall=overall))


async def calls(pace: Pace, chats: list[str]) -> list[float]:
    loop = asyncio.get_running_loop()
    times: list[float] = []

    async def one(chat: str) -> None:
        await pace.turn(chat)
        times.append(loop.time())

    await asyncio.gather(*[one(chat) for chat in chats])
    return sorted(times)


def closest(times: list[float], count: int) -> float:
    """The shortest stretch in which there were more than `count`."""
    return min([later - first for first, later in zip(times, times[count:], strict=False)])


async def test_platform_gets_no_more_than_its_rate() -> None:
    pace = paced(chat=Rate(100, 1), overall=Rate(3, 0.1))
    assert closest(await calls(pace, ["a"] * 5 + ["b"] * 5), 3) >= 0.1


async def test_chat_gets_no_more_than_its_rate() -> None:
    pace = paced(chat=Rate(2, 0.1), overall=Rate(100, 1))
    assert closest(await calls(pace, ["a"] * 7), 2) >= 0.1


async def test_paused_chat_holds_up_no_other() -> None:
    pace = paced(chat=Rate(9, 1), overall=Rate(9, 1))
    pace.pause("a", 0.2)
    start = asyncio.get_running_loop().time()
    assert not pace.take_if_free("a")
    assert pace.take_if_free("b")
    await pace.turn("a")
    assert asyncio.get_running_loop().time() - start >= 0.2
