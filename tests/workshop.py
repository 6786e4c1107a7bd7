"""A whole Roost whose agents have hands: real shells in real boxes, behind the real tools."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from roost.core.clock import SystemClock
from roost.core.config import Config, WorkspacesConfig
from roost.core.events import SessionEvent, Snapshot, Streamed, ToolOutputDelta
from roost.core.ids import SessionId, UserId
from roost.core.messages import ToolResultPart, plain_text
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, call, say
from roost.tools.processes import ProcessesTool
from roost.tools.terminal import TerminalTool
from roost.workspace.base import Sandbox, SandboxKind
from roost.workspace.workspaces import Workspaces
from tests.boxes import sandbox_of
from tests.engine import SECONDS, Engine


class Workshop:
    """Its workspaces have a clock of their own, to be moved."""

    def __init__(
        self, folder: Path, server: ModelServer, sandbox: Sandbox, config: Config | None = None
    ) -> None:
        self.server = server
        self.clock = FakeClock()
        self._folder = folder
        self._sandbox = sandbox
        self.engine = Engine(folder, server, clock=SystemClock(), config=config)

    async def open(self) -> None:
        self.workspaces = Workspaces(
            self._sandbox,
            self._folder / "workspaces",
            WorkspacesConfig(),
            clock=self.clock,
            is_admin=_is_admin,
        )
        self.engine.workspaces = self.workspaces
        self.engine.tools = (
            *TerminalTool(self.workspaces).tools(),
            *ProcessesTool(self.workspaces, self.clock).tools(),
        )
        await self.engine.start()

    async def close(self) -> None:
        await self.engine.stop()
        await self.workspaces.close()

    async def restart(self) -> None:
        await self.close()
        await self.open()

    async def does(self, session: SessionId, command: str, **given: object) -> str:
        """Let the agent run a command in a turn of its own; what it was answered."""
        return await self._calls(session, "terminal", {"command": command, **given})

    async def processes(self, session: SessionId, action: str, **given: object) -> str:
        return await self._calls(session, "processes", {"action": action, **given})

    async def begins(self, session: SessionId, command: str) -> None:
        """Let it begin one, and return once that shows that it runs, by saying `begun`."""
        self.server.plan(call("terminal", {"command": command}))
        await self.begun(session)

    async def begun(self, session: SessionId) -> None:
        await self.engine.account.send(session, "Go")
        async with asyncio.timeout(SECONDS), self.engine.account.watch(session) as events:
            async for event in events:
                if "begun" in shown(event):
                    return

    async def _calls(self, session: SessionId, name: str, given: dict[str, object]) -> str:
        self.server.plan(call(name, given), say("Done."))
        turn = await self.engine.say(session, "Go")
        assert turn.state == "completed", turn
        return (await self.results(session))[-1]

    async def results(self, session: SessionId) -> list[str]:
        messages = await self.engine.messages(session)
        parts = [part for message in messages for part in message.parts]
        return [plain_text(part.content) for part in parts if isinstance(part, ToolResultPart)]


def shown(event: SessionEvent) -> str:
    """What tools show while they run."""
    if isinstance(event, Streamed):
        found = event.deltas.deltas
    elif isinstance(event, Snapshot):
        found = [delta for run in event.deltas for delta in run.deltas]
    else:
        return ""
    return "".join([delta.text for delta in found if isinstance(delta, ToolOutputDelta)])


@asynccontextmanager
async def workshop_in(
    folder: Path, server: ModelServer, kind: SandboxKind, config: Config | None = None
) -> AsyncGenerator[Workshop]:
    async with sandbox_of(kind) as sandbox:
        workshop = Workshop(folder, server, sandbox, config)
        await workshop.open()
        try:
            yield workshop
        finally:
            await workshop.close()


async def _is_admin(user: UserId) -> bool:
    return True
