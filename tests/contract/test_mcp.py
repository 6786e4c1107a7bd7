"""Tools of a real server in a session: asked for, used, and the same for as long as it lasts."""

from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.testing.models import ModelServer, call, say
from roost.tools.mcp.servers import McpServers
from tests.engine import Engine, started
from tests.unit.tools.mcp.talking import plain, real, talking, until


def names(servers: McpServers) -> list[str]:
    return [tool.schema.name for tool in servers.tools()]


@pytest.mark.contract("A4")
async def test_running_session_keeps_its_tools_whatever_becomes_of_the_server(
    tmp_path: Path, folder: Path, server: ModelServer
) -> None:
    async with talking(tmp_path / "mcp", birds=real()) as servers:
        engine = Engine(folder, server, clock=SystemClock(), tools=(), late=servers.tools)
        async with started(engine):
            session = await engine.session()
            server.plan(call("mcp_birds_grow", {}), say("Grown."))
            turn = await engine.account.send(session, "Grow")
            await engine.reached(turn.id, "waiting")
            (asked,) = await engine.account.decisions.pending()
            await engine.account.decisions.answer(asked.id, "approved")
            assert (await engine.ended(turn.id)).state == "completed"
            await until(lambda: "mcp_birds_another_owl" in names(servers))
            await engine.say(session, "And now?")
            engine.parts.agents.drop(session)
            await engine.say(session, "And after a rebuild?")
            other = await engine.session()
            await engine.say(other, "Hello")
    *mine, others = [request.tools for request in server.requests]
    assert len(set(mine)) == 1
    assert set(others) - set(mine[0]) == {"mcp_birds_another_owl"}


async def test_server_that_is_down_fails_the_call_and_not_the_turn(
    tmp_path: Path, folder: Path, server: ModelServer
) -> None:
    async with talking(tmp_path / "mcp", birds=plain()) as servers:
        engine = Engine(folder, server, clock=SystemClock(), tools=(), late=servers.tools)
        async with started(engine):
            session = await engine.session()
            server.plan(call("mcp_birds_die", {}), say("It died."))
            turn = await engine.account.send(session, "Go on")
            await engine.reached(turn.id, "waiting")
            (asked,) = await engine.account.decisions.pending()
            await engine.account.decisions.answer(asked.id, "approved")
            assert (await engine.ended(turn.id)).state == "completed"
            assert "was lost during the call" in str(server.requests[-1].results)
