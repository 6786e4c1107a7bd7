"""The scripted server as a process of its own."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest

from roost.testing.models.prompt import Json

DEADLINE = 60
CHAT: Json = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
async def address(tmp_path: Path) -> AsyncGenerator[str]:
    """Of a server with a script of one reply; it ends in peace when it is told to."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [{"kind": "say", "text": "from the file"}]}))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "roost.testing.models", "--script", str(script), stdout=PIPE
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            yield (await process.stdout.readline()).decode().strip()
            process.terminate()
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def post(session: aiohttp.ClientSession, url: str, body: Json) -> tuple[int, str]:
    async with session.post(url, json=body) as response:
        return response.status, await response.text()


async def test_process_follows_its_script_and_shows_what_was_asked(address: str) -> None:
    chat = f"{address}/v1/chat/completions"
    async with aiohttp.ClientSession() as session:
        assert "from the file" in (await post(session, chat, CHAT))[1]
        more: Json = {"replies": [{"kind": "say", "text": "added"}]}
        assert await post(session, f"{address}/script", more) == (200, '{"unplayed": 1}')
        assert "added" in (await post(session, chat, CHAT))[1]
        assert (await post(session, f"{address}/script", {"replies": 1}))[0] == 400
        async with session.get(f"{address}/requests") as response:
            first, second = await response.json()
    assert json.loads(first["body"]) == CHAT
    assert second["cache"]["hit_tokens"] == first["cache"]["prompt_tokens"] > 0
    assert (first["refused"], first["left"]) == (None, False)


async def test_stalled_reply_is_released_from_outside(address: str) -> None:
    script: Json = {"otherwise": [{"kind": "stall"}, {"kind": "say", "text": "released"}]}
    async with aiohttp.ClientSession() as session, asyncio.timeout(DEADLINE):
        await post(session, f"{address}/script", {**script, "replies": []})
        await post(session, f"{address}/v1/chat/completions", CHAT)
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(post(session, f"{address}/v1/chat/completions", CHAT))
            await _stalled(session, address)
            await post(session, f"{address}/release", {})
    assert "released" in asking.result()[1]


async def _stalled(session: aiohttp.ClientSession, address: str) -> None:
    while True:
        async with session.get(f"{address}/requests") as response:
            if (await response.json())[-1]["stalled"]:
                return
