"""The built-in model: really loaded, really asked, and gone when it should be."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest

from roost.core.errors import KeyRefused, ModelUnknown
from roost.core.messages import TextPart
from roost.llm.base import Finished, Request
from roost.llm.client import Endpoint, HttpClient
from roost.llm.local import LocalClient, available, bundled_model
from roost.llm.profiles import VENDORS
from tests.unit.llm.asking import events_of, message, question, said_by

PROFILE = VENDORS["local"].profile
BRIEF = Request(
    model="smollm2",
    messages=(message("user", TextPart("Say hello.")),),
    temperature=0.0,
    max_output_tokens=12,
)
DEADLINE = 120.0

pytestmark = pytest.mark.skipif(not available(), reason="the built-in model is not installed")


@pytest.fixture
async def local(connections: aiohttp.ClientSession) -> AsyncGenerator[LocalClient]:
    client = LocalClient(connections, PROFILE)
    yield client
    await client.close()


def child(client: LocalClient) -> asyncio.subprocess.Process:
    return vars(client)["_child"]


def inner(client: LocalClient) -> HttpClient:
    return vars(client)["_client"]


def gone(pid: int) -> bool:
    """Wait until a process that is not ours has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], DEADLINE)[0])
    finally:
        os.close(handle)


async def test_it_starts_answers_is_used_again_and_comes_back(
    local: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIGHTJAR_API_KEY", "sk-nightjar")
    assert child(local) is None, "it starts on first use"
    events = await events_of(local, BRIEF)
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert len(events) > 2, "it streams"
    assert said_by(events).strip()
    assert finished.usage is not None
    assert finished.usage.input_tokens > 0
    assert 0 < finished.usage.output_tokens <= 12

    first = child(local).pid
    environ = Path(f"/proc/{first}/environ").read_bytes()
    assert b"NIGHTJAR_API_KEY" not in environ
    again = await asyncio.gather(events_of(local, BRIEF), events_of(local, BRIEF))
    assert [said_by(each) for each in again] == [said_by(events)] * 2
    assert child(local).pid == first

    child(local).kill()
    await child(local).wait()
    assert said_by(await events_of(local, BRIEF)) == said_by(events)
    second = child(local).pid
    assert second != first

    await local.close()
    assert gone(second)
    await local.close()


async def test_first_uses_at_the_same_time_start_one_and_only_the_key_opens_it(
    local: LocalClient, connections: aiohttp.ClientSession
) -> None:
    together = await asyncio.gather(*[events_of(local, BRIEF) for _ in range(3)])
    assert len({said_by(events) for events in together}) == 1
    url = vars(inner(local))["_endpoint"].base_url
    assert url.startswith("http://127.0.0.1:")
    for headers in ({}, {"authorization": "Bearer guessed"}):
        stranger = HttpClient(
            connections,
            Endpoint("local", url, {**headers, "connection": "close"}),
            lambda _: PROFILE,
        )
        with pytest.raises(KeyRefused):
            await events_of(stranger, BRIEF)


PARENT = """
import asyncio, sys, aiohttp
from roost.llm.local import LocalClient
from roost.llm.profiles import VENDORS
from tests.unit.llm.test_local import BRIEF, child

async def main():
    async with aiohttp.ClientSession() as connections:
        client = LocalClient(connections, VENDORS["local"].profile)
        async with client.stream(BRIEF) as events:
            async for _ in events:
                print("child", child(client).pid, flush=True)
                await asyncio.Event().wait()

asyncio.run(main())
"""


def test_it_goes_when_its_parent_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
        text=True,
    ) as parent:
        assert parent.stdout is not None
        try:
            lines = iter(parent.stdout.readline, "")
            pid = next(int(line.split()[1]) for line in lines if line.startswith("child "))
            os.kill(pid, 0)
        finally:
            parent.send_signal(signal.SIGKILL)
    assert gone(pid)


async def test_a_missing_model_file_is_named(connections: aiohttp.ClientSession) -> None:
    client = LocalClient(connections, PROFILE, Path("/nowhere/heron.gguf"))
    with pytest.raises(ModelUnknown, match=r"/nowhere/heron\.gguf \(there is no such file\)"):
        await events_of(client, BRIEF)


async def test_a_file_that_is_no_model_is_named(
    connections: aiohttp.ClientSession, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(b"GGUF but not really")
    client = LocalClient(connections, PROFILE, wrong)
    with pytest.raises(ModelUnknown, match=r"wrong\.gguf \(it could not be loaded\)"):
        await events_of(client, question())
    assert child(client) is None


def test_the_bundled_model_is_a_file() -> None:
    model = bundled_model()
    assert model is not None
    assert model.stat().st_size > 50 << 20
