"""Roost is killed while an agent's command runs: nothing stays, and nothing is repeated."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.ids import SessionId
from roost.testing.models import ModelServer, call, say
from tests.boxes import DEADLINE, Watched, commands, need
from tests.terminal_hands import endless
from tests.workshop import workshop_in

KIND = "bubblewrap"
"""Without a box a command would ask first."""


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        server.otherwise(say("Good day."))
        yield server


async def killed(folder: Path, server: ModelServer, command: str) -> SessionId:
    """Let a Roost live until the command runs."""
    server.plan(call("terminal", {"command": command}))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.terminal_process"),
        *(KIND, str(folder), server.openai_url),
        stdout=PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(DEADLINE):
            session = SessionId((await process.stdout.readline()).decode().strip())
        everyone = Watched.below(process.pid)
        assert len(everyone.pids) > 3
    finally:
        process.kill()
        await process.communicate()
    assert await everyone.gone() == []
    return session


@pytest.mark.contract("D4")
async def test_command_in_a_shell_is_unknown_after_a_kill_and_never_run_again(
    folder: Path, server: ModelServer
) -> None:
    await need(KIND)
    sleep = endless()
    command = f"echo ran >>count; trap '' TERM HUP; setsid {sleep} & echo begun; {sleep}"
    session = await killed(folder, server, command)
    assert not commands(sleep)
    async with workshop_in(folder, server, KIND) as workshop:
        (turn,) = await workshop.engine.account.turns(session)
        assert turn.state == "interrupted"
        store = workshop.engine.store.of(workshop.engine.owner.id)
        (tool_call,) = await store.turns.tool_calls(turn.id)
        assert tool_call.state == "unknown"
        assert "nobody knows whether it took effect" in (await workshop.results(session))[0]
        news = "[The earlier shell ended when Roost restarted. Files are kept.]\n"
        assert await workshop.does(session, "cat count") == f"{news}ran\n"
        assert not commands(sleep)
