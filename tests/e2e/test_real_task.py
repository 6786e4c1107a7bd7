"""A task as people give them: write a program, run its tests, mend it, with a person's consent."""

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest

from roost.core.approvals import Approval
from roost.core.config import (
    ApprovalsConfig,
    Config,
    ModelsConfig,
    ProviderConfig,
    WorkspacesConfig,
)
from roost.core.events import Changed
from roost.core.ids import SessionId
from roost.core.messages import ToolResultPart, plain_text
from roost.core.settings import BaseUrl
from roost.core.turns import ENDED
from roost.runtime.account import Account
from roost.testing.models import ModelServer, call, say
from roost.wiring import running
from tests.boxes import need

PROGRAM = """\
# The sum of its arguments.
total=0
for n in "$@"; do total=$n; done
echo $total
"""
TESTS = """\
[ "$(bash sum.sh 1 2 3)" = 6 ] && echo "1 passed" || { echo "1 failed"; exit 1; }
"""


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        yield server


def config_of(folder: Path, server: ModelServer) -> Config:
    provider = ProviderConfig(
        vendor="compatible", base_url=BaseUrl(server.openai_url), models=("model",)
    )
    return Config(
        data=folder,
        models=ModelsConfig(default="test/model"),
        providers={"test": provider},
        approvals=ApprovalsConfig(ask=("terminal",)),
        workspaces=WorkspacesConfig(sandbox="bubblewrap"),
    )


async def results(account: Account, session: SessionId) -> list[str]:
    messages = await account.messages(session, limit=100)
    parts = [part for message in messages for part in message.parts]
    return [plain_text(part.content) for part in parts if isinstance(part, ToolResultPart)]


async def answered(account: Account, session: SessionId, looks: asyncio.Event) -> list[Approval]:
    """On another surface: say yes to whatever is asked, until the turn is over."""
    given: list[Approval] = []
    async with account.watch(session) as events:
        async for event in events:
            looks.set()
            if not isinstance(event, Changed):
                continue
            given += [
                await account.decisions.answer(each.id, "approved", route="web")
                for each in event.approvals
                if each.state == "pending"
            ]
            if any(turn.state in ENDED for turn in event.turns):
                return given
    raise AssertionError("the events ended before the turn did")


async def test_program_is_written_tested_and_mended(tmp_path: Path, server: ModelServer) -> None:
    await need("bubblewrap")
    server.plan(
        call("write_file", {"path": "sum.sh", "content": PROGRAM}),
        call("write_file", {"path": "test.sh", "content": TESTS}),
        call("terminal", {"command": "bash test.sh"}),
        call("read_file", {"path": "sum.sh"}),
        call("edit_file", {"path": "sum.sh", "old": "total=$n", "new": "total=$((total + n))"}),
        call("terminal", {"command": "bash test.sh"}),
        say("It was a sum that only kept the last number. Mended; the test passes."),
    )
    environ = {"PATH": os.environ["PATH"]}
    async with running(config_of(tmp_path, server), {}, environ) as roost:
        account = roost.app.of((await roost.app.owner()).id)
        session = (await account.create(origin="cli", title="Sums")).id
        elsewhere = roost.app.of((await roost.app.owner()).id)
        looks = asyncio.Event()
        watching = asyncio.create_task(answered(elsewhere, session, looks))
        async with asyncio.timeout(60):
            await looks.wait()
            turn = await account.send(session, "Write a program that sums its arguments.")
            given = await watching
        assert [each.asked.subject for each in given] == ["bash test.sh"] * 2
        assert {each.directory for each in given} == {"/workspace"}
        (ended,) = await account.turns(session)
        assert (ended.id, ended.state) == (turn.id, "completed")
        said = await results(account, session)
        assert "1 failed" in said[2]
        assert "exit status 1" in said[2]
        assert '+for n in "$@"; do total=$((total + n)); done' in said[4]
        assert said[5].startswith("1 passed")


async def test_subagent_works_on_its_callers_files_in_a_shell_of_its_own(
    tmp_path: Path, server: ModelServer
) -> None:
    await need("bubblewrap")
    server.plan(
        call("terminal", {"command": "mkdir -p src && cd src && echo mine >a"}),
        call("delegate", {"task": "Write b beside a."}),
        call("terminal", {"command": "pwd; echo theirs >src/b"}),
        say("Written."),
        call("terminal", {"command": "pwd; cat a b"}),
        say("Both are there."),
    )
    config = msgspec.structs.replace(config_of(tmp_path, server), approvals=ApprovalsConfig())
    async with running(config, {}, {"PATH": os.environ["PATH"]}) as roost:
        account = roost.app.of((await roost.app.owner()).id)
        session = (await account.create(origin="cli", title="Files")).id
        async with asyncio.timeout(60):
            async for _ in account.talk(session, "Have both written."):
                pass
        assert (await results(account, session))[-1] == "/workspace/src\nmine\ntheirs\n"
        (child,) = await account.subagents(session)
        assert (await results(account, child.id))[0] == "/workspace\n"
        await account.delete(session)
        assert list((tmp_path / "workspaces").iterdir()) == []
