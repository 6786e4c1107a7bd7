"""`kill -9` of a Roost on Telegram around a file that the agent sends: it arrives, and once it was
confirmed, never again."""

import os
import signal
from pathlib import Path

import pytest

from roost.testing.models import ModelRequest, ModelServer, Reply, call, say
from tests.fakes.telegram import TOKEN, FakeTelegram, fake_telegram
from tests.faults.channel_process import Orders
from tests.faults.channel_victims import victims

SENDER = {"id": 1, "is_bot": False, "first_name": "Ann"}


def _answer(request: ModelRequest) -> Reply:
    body = request.body.decode()
    if "Sent plan.txt" in body:
        return say("Here is the plan.")
    if "plan.txt" in body:
        return call("send_file", {"path": "plan.txt"})
    return call("write_file", {"path": "plan.txt", "content": "All of it"})


def _files(fake: FakeTelegram) -> int:
    return len([sent for sent in fake.sent if sent.file is not None])


@pytest.mark.timeout(240)
@pytest.mark.contract("E2")
@pytest.mark.parametrize(
    ("place", "times"),
    [
        ("channel.deliver.before", 1),
        # Telegram knows no keys: what it took without our knowledge is sent again.
        ("channel.deliver.after", 2),
        ("channel.confirm.after", 1),
    ],
)
async def test_file_arrives_over_a_kill(tmp_path: Path, place: str, times: int) -> None:
    async with ModelServer(otherwise=_answer) as model, fake_telegram() as fake:
        orders = Orders(model.openai_url, "telegram", {"token": TOKEN, "api": fake.url})
        async with victims(tmp_path, orders) as them:
            pid = await them.bear(f"{place}=kill:1")
            await fake.say("Write it", chat={"id": 1, "type": "private"}, **{"from": SENDER})
            await them.let_die(pid, 60)
            pid = await them.bear()
            # The file stands before the answer on its route: with the one the other is through.
            await fake.until(lambda: any("Here is the plan." in sent.text for sent in fake.sent))
            os.kill(pid, signal.SIGKILL)

    assert _files(fake) == times
