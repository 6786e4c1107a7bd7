"""Keys that Roost was given stay out of what tools answer, whatever becomes of the answer."""

from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest

from roost.agent.execution import LONGEST
from roost.core.config import WorkspacesConfig
from roost.core.keys import Key
from roost.testing.models import ModelServer, call, say
from roost.tools.base import ToolContext
from roost.tools.schema import tool
from roost.wiring import running
from tests.e2e.test_real_task import config_of, results
from tests.engine import eventually

KEY = "sk-0123456789abcdef"


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        yield server


async def leak(context: ToolContext, before: int, after: int) -> str:
    """Say the key, with so many letters around it."""
    context.show(f"It is {KEY}")
    return "a" * before + KEY + "z" * after


@pytest.mark.parametrize(
    ("before", "after"),
    [(3, 3), (LONGEST // 2 - 8, LONGEST), (LONGEST, LONGEST // 2 - 8)],
    ids=["whole", "cut at the head", "cut at the tail"],
)
async def test_key_is_in_no_result(
    tmp_path: Path, server: ModelServer, before: int, after: int
) -> None:
    server.plan(call("leak", {"before": before, "after": after}), say("Done."))
    config = msgspec.structs.replace(
        config_of(tmp_path, server), workspaces=WorkspacesConfig(sandbox="none")
    )
    async with running(config, {"test": Key(KEY)}, {}, tools=[tool(leak)]) as roost:
        account = roost.app.of((await roost.app.owner()).id)
        session = (await account.create(origin="cli", title="Keys")).id
        await account.send(session, "Go")

        async def said() -> list[str]:
            return await results(account, session)

        (result,) = await eventually(said)
        assert "sk-" not in result
        assert "cdef" not in result
        assert result.startswith("aaa")
        assert result.endswith("zzz")
