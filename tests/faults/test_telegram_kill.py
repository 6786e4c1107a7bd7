"""`kill -9` of a Roost on Telegram, between any two steps from a message to its answer: the real
library, against a Bot API that delivers again, limits, fails and forgets to answer."""

import os
import random
import signal
from collections import Counter
from pathlib import Path

import pytest

from roost.testing.models import ModelServer
from tests.fakes.telegram import TOKEN, FakeTelegram, fake_telegram
from tests.fakes.telegram_calls import CUT, LOST_ANSWER, Trouble, too_many
from tests.faults.channel_books import answer, ending, rows_in, turns_in
from tests.faults.channel_process import CHATS, Orders
from tests.faults.channel_victims import KILLS, SEED, fate, victims

TROUBLES = (CUT, LOST_ANSWER, Trouble(502, "Bad Gateway"), too_many(1), None, None)
METHODS = ("getUpdates", "sendMessage", "editMessageText", "getMe")


@pytest.mark.timeout(120 + 12 * KILLS)
@pytest.mark.contract("E1")
@pytest.mark.contract("E2")
async def test_killed_between_any_two_steps_each_message_is_answered(tmp_path: Path) -> None:
    chance = random.Random(SEED)  # noqa: S311 (reproducible, not secret)
    asked: dict[str, int] = {}
    confirmed: Counter[str] = Counter()
    async with ModelServer(otherwise=answer) as model, fake_telegram() as fake:
        orders = Orders(model.openai_url, "telegram", {"token": TOKEN, "api": fake.url})
        async with victims(tmp_path, orders) as them:
            for _ in range(KILLS):
                _make_trouble(fake, chance)
                pid = await them.bear(fate(chance))
                for _ in range(chance.randrange(1, 6)):
                    await _ask(fake, chance, asked)
                await them.let_die(pid, chance.uniform(0.5, 4.0))
                await fake.deliver_again(chance.randrange(3))
                confirmed |= _confirmed(tmp_path, fake)
            fake.troubles.clear()
            pid = await them.bear()
            await _until_answered(fake, tmp_path, asked)
            os.kill(pid, signal.SIGKILL)
    what = f"with ROOST_TEST_SEED={SEED}"
    turns = turns_in(tmp_path)
    assert Counter([text for text, _ in turns]) == Counter(asked.keys()), what
    completed = {text for text, state in turns if state == "completed"}
    answers = _answers(fake)
    assert {text: answers[text] for text in confirmed} == confirmed, what
    for chat in range(1, CHATS):
        posted = [ending(sent.text) for sent in fake.sent if sent.chat == chat]
        mine = [text for text, place in asked.items() if place == chat and text in completed]
        wanted = [f"Answer to {text}." for text in mine]
        assert list(dict.fromkeys(filter(None, posted))) == wanted, what


def _make_trouble(fake: FakeTelegram, chance: random.Random) -> None:
    for method in METHODS:
        fake.troubles[method].clear()
        fake.meet(method, *chance.choices(TROUBLES, k=chance.randrange(3)))


async def _ask(fake: FakeTelegram, chance: random.Random, asked: dict[str, int]) -> None:
    text, number = f"ask{len(asked) + 1}", chance.randrange(1, CHATS)
    asked[text] = number
    sender = {"id": number, "is_bot": False, "first_name": f"Person {number}"}
    await fake.say(text, chat={"id": number, "type": "private"}, **{"from": sender})


async def _until_answered(fake: FakeTelegram, folder: Path, asked: dict[str, int]) -> None:
    """Each with its answer, or with why there is none: a turn that was killed twice does not go on
    by itself."""

    def are_all() -> bool:
        wanted = {f"Answer to {text}." for text, state in turns_in(folder) if state == "completed"}
        missing = len(asked) - len(wanted)
        told = {sent.id for sent in fake.sent if "Roost was stopped" in sent.text}
        return wanted <= _answers(fake).keys() and missing <= len(told)

    try:
        await fake.until(are_all, within=180 + len(asked))  # one a second in a chat
    except TimeoutError:
        missing = sorted({f"Answer to {text}." for text in asked} - _answers(fake).keys())
        pytest.fail(f"never answered, with ROOST_TEST_SEED={SEED}: {missing}")


def _answers(fake: FakeTelegram) -> Counter[str]:
    return Counter([end for sent in fake.sent if (end := ending(sent.text))])


def _confirmed(folder: Path, fake: FakeTelegram) -> Counter[str]:
    """The answers that Roost knows to have arrived, and how often they are there."""
    rows = rows_in(folder, "SELECT external_id FROM outbox_pieces WHERE sent_at IS NOT NULL")
    texts = {ending(fake.by_id(int(str(row[0]))).text) for row in rows}
    return Counter({text: count for text, count in _answers(fake).items() if text in texts})
