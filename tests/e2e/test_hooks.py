"""Platforms that call Roost: the real server, reached by Telegram's hook and Slack's requests."""

import asyncio
from pathlib import Path

import pytest

from roost.testing.models import ModelServer, say
from tests.e2e.command import DEADLINE, Roost
from tests.fakes.slack import SECRET, fake_slack
from tests.fakes.slack import TOKEN as SLACK_TOKEN
from tests.fakes.telegram import TOKEN, fake_telegram

CONFIG = """
[models]
default = "test/model"

[memory]
provider = "none"

[providers.test]
vendor = "compatible"
base_url = "{url}"
models = ["model"]

[channels.{channel}]
allow = ["{sender}"]

[channels.{channel}.options]
"""


def configured(
    folder: Path, model: ModelServer, channel: str, sender: str, **options: str
) -> tuple[str, str]:
    file = folder / "roost.toml"
    lines = "".join([f'{name} = "{value}"\n' for name, value in options.items()])
    file.write_text(CONFIG.format(url=model.openai_url, channel=channel, sender=sender) + lines)
    return "--config", str(file)


@pytest.mark.contract("E1")
async def test_telegram_brings_messages_to_its_hook(
    roost: Roost, tmp_path: Path, port: int
) -> None:
    hook = f"http://127.0.0.1:{port}/hooks/telegram"
    async with ModelServer(otherwise=say("Good day.")) as model, fake_telegram() as fake:
        options = {"token": TOKEN, "api": fake.url, "webhook": hook}
        flags = configured(tmp_path, model, "telegram", "42", **options)
        await fake.say("Said before it was there")
        async with roost.running("--port", str(port), *flags):
            await fake.say("Said to it")
            await fake.until_confirmed()
            await fake.until(lambda: len(fake.sent) == 2)

    assert [sent.text for sent in fake.sent] == ["Good day.", "Good day."]


@pytest.mark.contract("E1")
async def test_slack_posts_signed_events_to_its_hook(
    roost: Roost, tmp_path: Path, port: int
) -> None:
    hook = f"http://127.0.0.1:{port}/hooks/slack"
    async with ModelServer(otherwise=say("Good day.")) as model, fake_slack() as fake:
        options = {"token": SLACK_TOKEN, "signing_secret": SECRET, "api": fake.api}
        flags = configured(tmp_path, model, "slack", "U1", **options)
        said = {"type": "message", "channel": "D1", "user": "U1", "text": "Hello"}
        event = fake.callback({**said, "ts": fake.new_ts()})
        async with roost.running("--port", str(port), *flags):
            async with asyncio.timeout(DEADLINE):
                # Until it is connected Slack is told to try again.
                while await fake.call_hook(hook, event, tries=1) != [200]:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            assert await fake.call_hook(hook, event) == [200]
            await fake.until(fake.sent)

    assert [post.text for post in fake.sent()] == ["Good day."]
