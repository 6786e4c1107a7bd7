"""`kill -9` of a Roost on Discord, between any two steps from a message to its answer: the real
library, against a Discord that drops sockets, limits, fails and forgets to answer."""

import asyncio
import os
import random
import signal
from collections import Counter
from pathlib import Path

import pytest

from roost.testing.models import ModelServer
from tests.fakes.discord import FakeDiscord, Trouble
from tests.fakes.discord_server import served
from tests.faults.channel_books import answer, ending, rows_in, turns_in
from tests.faults.channel_process import CHATS, Orders
from tests.faults.channel_victims import KILLS, SEED, Victims, fate, victims

TROUBLES = (
    Trouble(cut=True, done=True),
    Trouble(cut=True),
    Trouble(502, done=True),
    Trouble(503),
    Trouble(429, retry_after=0.5),
)


@pytest.mark.timeout(120 + 12 * KILLS)
@pytest.mark.contract("E1")
@pytest.mark.contract("E2")
async def test_killed_between_any_two_steps_each_message_is_answered_once(tmp_path: Path) -> None:
    chance = random.Random(SEED)  # noqa: S311 (reproducible, not secret)
    asked: dict[str, str] = {}
    async with ModelServer(otherwise=answer) as model, served() as fake:
        people = [fake.person(f"person {n}", id=str(n)) for n in range(1, CHATS)]
        chats = {fake.dm(person): person for person in people}
        options = {"token": fake.token, "api": fake.url}
        async with victims(tmp_path, Orders(model.openai_url, "discord", options)) as them:
            await _get_known(them, fake, tmp_path, chats, asked)
            for _ in range(KILLS):
                fake.trouble.clear()
                fake.trouble.extend(chance.choices(TROUBLES, k=chance.randrange(4)))
                pid = await them.bear(fate(chance))
                for _ in range(chance.randrange(1, 6)):
                    await _ask(fake, chance, chats, asked)
                await them.let_die(pid, chance.uniform(1.0, 5.0))
                fake.gateway.sessions.clear()
            fake.trouble.clear()
            pid = await them.bear()
            await _until_settled(tmp_path, len(asked))
            os.kill(pid, signal.SIGKILL)
    _check(fake, tmp_path, asked)


async def _get_known(
    them: Victims, fake: FakeDiscord, folder: Path, chats: dict[str, str], asked: dict[str, str]
) -> None:
    """Of a chat in which the bot never heard anything, Discord would tell it nothing afterwards."""
    pid = await them.bear()
    await fake.until(lambda: fake.gateway.connected, within=60)
    for chat, person in chats.items():
        text = f"ask{len(asked) + 1}"
        asked[text] = chat
        await fake.say(person, chat, text)
    await _until_settled(folder, len(asked))
    os.kill(pid, signal.SIGKILL)
    await them.let_die(pid, 60)


async def _ask(
    fake: FakeDiscord, chance: random.Random, chats: dict[str, str], asked: dict[str, str]
) -> None:
    text, chat = f"ask{len(asked) + 1}", chance.choice([*chats])
    asked[text] = chat
    await fake.say(chats[chat], chat, text)
    if chance.random() < 0.2:
        await fake.gateway.drop(forget=chance.random() < 0.3)


async def _until_settled(folder: Path, asked: int) -> None:
    """Until every message is a turn that has ended, and every end was delivered."""
    try:
        async with asyncio.timeout(200):
            while not _is_settled(folder, asked):  # noqa: ASYNC110 (another process does it)
                await asyncio.sleep(0.1)
    except TimeoutError:
        pytest.fail(f"not all was answered, with ROOST_TEST_SEED={SEED}: {turns_in(folder)}")


def _is_settled(folder: Path, asked: int) -> bool:
    ended = [text for text, state in turns_in(folder) if state not in ("queued", "running")]
    unsent = rows_in(folder, "SELECT id FROM outbox WHERE state <> 'sent'")
    told = rows_in(folder, "SELECT DISTINCT turn_id FROM outbox WHERE turn_id IS NOT NULL")
    return (len(ended), len(told), len(unsent)) == (asked, asked, 0)


def _check(fake: FakeDiscord, folder: Path, asked: dict[str, str]) -> None:
    what = f"with ROOST_TEST_SEED={SEED}"
    turns = turns_in(folder)
    assert Counter([text for text, _ in turns]) == Counter(asked.keys()), what
    completed = [text for text, state in turns if state == "completed"]
    answers = {f"Answer to {text}." for text in completed}
    for chat in set(asked.values()):
        wanted = [f"Answer to {text}." for text, where in asked.items() if where == chat]
        # What was shown of a turn that was then killed twice may be left there.
        posted = [ending(text) for text in fake.texts(chat) if ending(text) in answers]
        assert posted == [text for text in wanted if text in answers], what
