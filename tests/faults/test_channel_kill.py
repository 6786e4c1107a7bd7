"""`kill -9` of a Roost with a channel, between any two steps of receive, store, acknowledge,
answer, deliver and confirm: each message is one turn, and each answer arrives."""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from roost.testing.models import ModelServer
from tests.faults.channel_books import answer, ending, rows_in, turns_in
from tests.faults.channel_platform import NAME, Platform
from tests.faults.channel_process import CHATS, Orders
from tests.faults.channel_victims import KILLS, SEED, fate, victims

DEADLINE = 180.0


@pytest.mark.timeout(120 + 12 * KILLS)
@pytest.mark.contract("E1")
@pytest.mark.contract("E2")
@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "unkeyed"])
async def test_killed_between_any_two_steps_each_message_is_handled_once(
    tmp_path: Path, *, keyed: bool
) -> None:
    chance = random.Random(SEED)  # noqa: S311 (reproducible, not secret)
    async with (
        ModelServer(otherwise=answer) as model,
        Platform(SEED, keyed=keyed, moods=0.2) as platform,
    ):
        options = {"url": platform.url, "edits": "yes" if keyed else "no"}
        orders = Orders(model.openai_url, NAME, options)
        asked = 0
        async with victims(tmp_path, orders) as them:
            for _ in range(KILLS // 2):
                platform.confirmed |= _confirmed(tmp_path)
                pid = await them.bear(fate(chance))
                for _ in range(chance.randrange(1, 6)):
                    asked += 1
                    platform.say(chance.randrange(CHATS), f"ask{asked}")
                await them.let_die(pid, chance.uniform(0.5, 3.0))
            platform.moods = 0
            platform.confirmed |= _confirmed(tmp_path)
            pid = await them.bear()
            await _settled(tmp_path, asked)
            os.kill(pid, signal.SIGKILL)
        _check(tmp_path, platform, asked, keyed=keyed)


async def _settled(folder: Path, asked: int) -> None:
    """Until every message is a turn that has ended, and every end was delivered."""
    try:
        async with asyncio.timeout(DEADLINE):
            while not _is_settled(folder, asked):  # noqa: ASYNC110 (another process does it)
                await asyncio.sleep(0.1)
    except TimeoutError:
        pytest.fail(f"not everything was answered, with ROOST_TEST_SEED={SEED}")


def _is_settled(folder: Path, asked: int) -> bool:
    (row,) = rows_in(
        folder,
        "SELECT (SELECT count(*) FROM inbox WHERE handled_at IS NOT NULL),"
        " (SELECT count(*) FROM turns t WHERE t.ended_at IS NOT NULL AND EXISTS"
        "     (SELECT 1 FROM outbox o WHERE o.turn_id = t.id AND o.state = 'sent')),"
        " (SELECT count(*) FROM outbox WHERE state <> 'sent')",
    )
    return row == (asked, asked, 0)


def _check(folder: Path, platform: Platform, asked: int, *, keyed: bool) -> None:
    what = f"with ROOST_TEST_SEED={SEED}"
    turns = _turns(folder)
    assert sorted(turns) == sorted([f"ask{number}" for number in range(1, asked + 1)]), what
    assert not platform.repeated, what
    # A turn that was killed twice does not go on by itself a second time: that is told.
    completed = [text for text, state in turns.items() if state == "completed"]
    stopped = [post for post in platform.posts if "Roost was stopped" in post.text]
    answers = [post for post in platform.posts if ending(post.text)]
    if keyed:
        assert (len(answers), len(stopped)) == (len(completed), asked - len(completed)), what
    for chat in range(CHATS):
        said = [each.text for each in platform.updates if each.chat == chat]
        wanted = [f"Answer to {text}." for text in said if text in completed]
        posted = [ending(post.text) for post in answers if post.to == f"post:dm:{chat}"]
        assert list(dict.fromkeys(posted)) == wanted, what


def _turns(folder: Path) -> dict[str, str]:
    rows = turns_in(folder)
    found = dict(rows)
    assert len(found) == len(rows), f"a message was taken twice, with ROOST_TEST_SEED={SEED}"
    return found


def _confirmed(folder: Path) -> set[str]:
    rows = rows_in(folder, "SELECT outbox_id, number FROM outbox_pieces WHERE sent_at IS NOT NULL")
    return {f"{entry}.{number}" for entry, number in rows}
