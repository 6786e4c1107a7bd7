"""`kill -9` of a Roost on Slack, between any two steps from a message to its answer: the real
library, against a Slack that delivers again, limits, fails and forgets to answer."""

import os
import random
import signal
from collections import Counter
from pathlib import Path

import pytest

from roost.testing.models import ModelServer
from tests.fakes.slack import APP_TOKEN, TOKEN, FakeSlack, Json, Trouble, fake_slack
from tests.faults.channel_books import answer, ending, turns_in
from tests.faults.channel_process import CHATS, Orders
from tests.faults.channel_victims import KILLS, SEED, fate, victims

TROUBLES = (
    Trouble("lost"),
    Trouble("lost"),
    Trouble("status", 502),
    Trouble("status", 429, retry_after=1),
    Trouble("error", error="internal_error"),
)
METHODS = (
    "auth.test",
    "apps.connections.open",
    "chat.postMessage",
    "chat.update",
    "conversations.history",
)


@pytest.mark.timeout(120 + 12 * KILLS)
@pytest.mark.contract("E1")
@pytest.mark.contract("E2")
async def test_killed_between_any_two_steps_each_message_is_answered_once(tmp_path: Path) -> None:
    chance = random.Random(SEED)  # noqa: S311 (reproducible, not secret)
    asked: dict[str, int] = {}
    async with ModelServer(otherwise=answer) as model, fake_slack() as slack:
        slack.page = 200  # as much as Slack gives, and Roost looks back on
        options = {"token": TOKEN, "app_token": APP_TOKEN, "api": slack.api}
        async with victims(tmp_path, Orders(model.openai_url, "slack", options)) as them:
            for _ in range(KILLS):
                _make_trouble(slack, chance)
                pid = await them.bear(fate(chance))
                for _ in range(chance.randrange(1, 6)):
                    await _ask(slack, chance, asked)
                await them.let_die(pid, chance.uniform(1.0, 5.0))
            slack.trouble.clear()
            pid = await them.bear()
            await _until_answered(slack, tmp_path, asked)
            os.kill(pid, signal.SIGKILL)
    what = f"with ROOST_TEST_SEED={SEED}"
    turns = turns_in(tmp_path)
    assert Counter([text for text, _ in turns]) == Counter([*asked]), what
    completed = [text for text, state in turns if state == "completed"]
    assert _answers(slack) == Counter([f"Answer to {text}." for text in completed]), what
    for chat in range(CHATS):
        posted = [ending(post.text) for post in slack.sent() if post.channel == f"D{chat}"]
        wanted = [text for text, where in asked.items() if where == chat and text in completed]
        assert list(filter(None, posted)) == [f"Answer to {text}." for text in wanted], what


def _make_trouble(slack: FakeSlack, chance: random.Random) -> None:
    slack.trouble.clear()
    for method in METHODS:
        slack.trouble[method] += chance.choices(TROUBLES, k=chance.randrange(3))


async def _ask(slack: FakeSlack, chance: random.Random, asked: dict[str, int]) -> None:
    text, chat = f"ask{len(asked) + 1}", chance.randrange(CHATS)
    asked[text] = chat
    # What Slack gave up on while nobody was there is found once somebody has been there before.
    heard = bool(slack.sockets) or not slack.connections or chance.random() < 0.8
    ts = await slack.say(text, user=str(chat), channel=f"D{chat}", heard=heard)
    if heard and chance.random() < 0.3:
        again: Json = {"user": str(chat), "channel": f"D{chat}", "text": text, "ts": ts}
        await slack.event({"type": "message", **again})


async def _until_answered(slack: FakeSlack, folder: Path, asked: dict[str, int]) -> None:
    """Each with its answer, or with why there is none: a turn that was killed twice does not go on
    by itself."""

    def are_all() -> bool:
        told = sum("Roost was stopped" in post.text for post in slack.sent())
        return len(_answers(slack)) + told >= len(asked)

    try:
        await slack.until(are_all, within=180 + len(asked))  # one a second in a chat
    except TimeoutError:
        ends = {text for text, state in turns_in(folder) if state == "completed"}
        missing = sorted(asked.keys() - ends)
        pytest.fail(f"not all was answered, with ROOST_TEST_SEED={SEED}; without end: {missing}")


def _answers(slack: FakeSlack) -> Counter[str]:
    return Counter([end for post in slack.sent() if (end := ending(post.text))])
