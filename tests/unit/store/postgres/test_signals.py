"""Words between servers: told once to all others, and made up for where one may be lost."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from roost.core.ids import SessionId
from roost.core.keys import StoreAddress
from roost.store.postgres import signals
from roost.store.postgres.engine import PostgresEngine
from roost.store.postgres.signals import CHANNEL, PostgresSignals
from roost.store.signals import Told
from tests.cutting import cutting
from tests.engine import SECONDS

NEVER = 3600.0


@pytest.fixture(autouse=True)
def never_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is seen was told, unless a test says otherwise."""
    monkeypatch.setattr(signals, "LOOK", NEVER)


@asynccontextmanager
async def server(
    name: str, url: str, *, direct: str | None = None
) -> AsyncGenerator[PostgresSignals]:
    engine = PostgresEngine(StoreAddress(url), pooled=False)
    address = None if direct is None else StoreAddress(direct)
    made = PostgresSignals(address, name, partial(engine.notify, CHANNEL))
    try:
        yield made
    finally:
        await made.close()
        await engine.close()


async def heard(words: AsyncIterator[Told], *, everything: bool = False) -> Told:
    """The next that names something, or that says to look at everything."""
    async with asyncio.timeout(SECONDS):
        async for told in words:
            if told.everything == everything:
                return told
    raise AssertionError("it ended")


async def listening(signals: PostgresSignals) -> AsyncIterator[Told]:
    """Once it can hear: it begins with everything, and again when it is connected."""
    words = signals.listen()
    for _ in range(2):
        await heard(words, everything=True)
    return words


async def test_word_reaches_the_others_and_not_oneself(url: str) -> None:
    async with server("a", url, direct=url) as one, server("b", url, direct=url) as two:
        mine, theirs = await listening(one), await listening(two)
        one.tell(changed=SessionId("ses_1"))
        one.tell(streamed=SessionId("ses_2"))
        told = await heard(theirs)
        assert (told.changed, told.streamed) == (("ses_1",), ("ses_2",))
        two.tell(changed=SessionId("ses_3"))
        assert (await heard(mine)).changed == ("ses_3",), "its own was not told"


async def test_too_much_for_one_word_is_told_in_several(url: str) -> None:
    names = [SessionId(f"ses_{number:026}") for number in range(1000)]
    async with server("a", url, direct=url) as one, server("b", url, direct=url) as two:
        theirs = await listening(two)
        for name in names:
            one.tell(changed=name, streamed=name)
        one.tell(people=True, settings=True, route="small:dm:1")
        first = await heard(theirs)
        words = [first]
        while sum([len(told.streamed) for told in words]) < len(names):
            words.append(await heard(theirs))
    assert (first.people, first.settings) == (True, True)
    assert not any(told.people or told.settings for told in words[1:])
    assert sorted([name for told in words for name in told.changed]) == names
    assert sorted([name for told in words for name in told.streamed]) == names
    assert [route for told in words for route in told.routes] == ["small:dm:1"]


async def test_name_that_is_too_long_for_a_word_is_everything(url: str) -> None:
    async with server("a", url, direct=url) as one, server("b", url, direct=url) as two:
        theirs = await listening(two)
        one.tell(changed=SessionId("ses_1"), route="long:" + "x" * signals.LONGEST, people=True)
        told = await heard(theirs, everything=True)
        assert (told.changed, told.routes, told.people) == ((), (), True)


async def test_all_kinds_of_words_are_told_to_each_who_listens(url: str) -> None:
    async with server("a", url, direct=url) as one, server("b", url, direct=url) as two:
        listeners = [await listening(two), two.listen()]
        await heard(listeners[1], everything=True)
        one.tell(route="small:dm:1")
        one.tell(people=True)
        one.tell(settings=True)
        for words in listeners:
            assert await heard(words) == Told(routes=("small:dm:1",), people=True, settings=True)


async def test_word_of_another_version_is_everything(url: str) -> None:
    engine = PostgresEngine(StoreAddress(url), pooled=False)
    async with server("b", url, direct=url) as two:
        theirs = await listening(two)
        await engine.notify(CHANNEL, ['{"new":"words"}'])
        await heard(theirs, everything=True)
    await engine.close()


async def test_next_look_does_not_cut_short_what_is_done_with_a_word(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "LOOK", 0.01)
    async with server("a", url) as one, server("b", url, direct=url) as two:
        words, looks = two.listen(), two.listen()
        while not (await anext(words)).changed:
            one.tell(changed=SessionId("ses_1"))
        for _ in range(3):
            await heard(looks, everything=True)
        await heard(words, everything=True)


async def test_whoever_could_not_hear_looks_at_everything(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "RETRY", 0.01)
    async with (
        cutting(url, tmp_path) as cutter,
        server("a", url) as one,
        server("b", url, direct=cutter.address(url)) as two,
    ):
        theirs = await listening(two)
        cutter.cut_all()
        await heard(theirs, everything=True)
        one.tell(changed=SessionId("ses_1"))
        assert (await heard(theirs)).changed == ("ses_1",)


async def test_connection_that_fell_silent_is_made_anew(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "LOOK", 0.1)
    monkeypatch.setattr(signals, "ANSWER", 1.0)
    monkeypatch.setattr(signals, "RETRY", 0.01)
    async with (
        cutting(url, tmp_path) as cutter,
        server("a", url) as one,
        server("b", url, direct=cutter.address(url)) as two,
    ):
        theirs = await listening(two)
        cutter.silence_all()
        async with asyncio.timeout(SECONDS):
            while not (await anext(theirs)).changed:
                one.tell(changed=SessionId("ses_1"))


async def test_where_nothing_can_be_heard_all_is_looked_at_again_and_again(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "POLL", 0.01)
    async with server("a", url) as one:
        words = one.listen()
        for _ in range(3):
            await heard(words, everything=True)
