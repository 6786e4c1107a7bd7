"""The terminal tools as an agent uses them: real shells in real boxes."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from roost.core.clock import Clock
from roost.core.config import WorkspacesConfig
from roost.core.ids import (
    BlobId,
    SessionId,
    UserId,
    new_session_id,
    new_tool_call_id,
    new_turn_id,
)
from roost.core.messages import plain_text
from roost.testing.clock import FakeClock
from roost.tools.base import Allowed, Intent, ToolContext, ToolError
from roost.tools.processes import ProcessesTool
from roost.tools.terminal import TerminalTool
from roost.workspace.base import Sandbox, SandboxKind
from roost.workspace.disk import DiskFloor
from roost.workspace.workspace import Workspace
from roost.workspace.workspaces import Workspaces
from tests.boxes import DEADLINE, sandbox_of

USER = UserId("usr_1")
GUEST = UserId("usr_2")


class Hands:
    """Of one session. What is told and shown is kept."""

    def __init__(
        self,
        folder: Path,
        sandbox: Sandbox | None,
        clock: Clock,
        floor: DiskFloor | None = None,
    ) -> None:
        self.folder = folder
        self.clock = clock
        self.floor = floor
        self.told: list[tuple[SessionId, str]] = []
        self.ended: list[tuple[SessionId, str]] = []
        self.heard = asyncio.Event()
        self.shown = ""
        self.workspaces = self.again(sandbox)
        self.session = new_session_id()

    def again(self, sandbox: Sandbox | None) -> Workspaces:
        """Others on the same folder, as after a restart."""
        self.workspaces = Workspaces(
            sandbox,
            self.folder,
            WorkspacesConfig(),
            clock=self.clock,
            is_admin=_is_admin,
            told=self._tell,
            ended=self._end,
            floor=self.floor,
        )
        terminal = TerminalTool(self.workspaces).tools()
        processes = ProcessesTool(self.workspaces, self.clock).tools()
        self._tools = {tool.schema.name: tool for tool in (*terminal, *processes)}
        return self.workspaces

    @property
    def schemas(self) -> bytes:
        return msgspec.json.encode([tool.schema for tool in self._tools.values()])

    async def workspace(self) -> Workspace:
        return await self.workspaces.of(USER, self.session)

    async def __call__(
        self, command: str, *, allowed: Allowed = "by default", user: UserId = USER, **given: object
    ) -> str:
        """Run a command, and what the model reads of it."""
        arguments = msgspec.json.encode({"command": command, **given}).decode()
        async with asyncio.timeout(DEADLINE):
            output = await self._tools["terminal"].run(arguments, self._context(allowed, user))
        return plain_text(output.content)

    async def raw(self, arguments: str) -> str:
        return plain_text((await self._tools["terminal"].run(arguments, self._context())).content)

    async def intent(self, command: str, **given: object) -> Intent:
        arguments = msgspec.json.encode({"command": command, **given}).decode()
        intent = await self._tools["terminal"].intent(arguments, self._context())
        assert intent is not None
        return intent

    async def intends_to(self, action: str, **given: object) -> Intent:
        arguments = msgspec.json.encode({"action": action, **given}).decode()
        intent = await self._tools["processes"].intent(arguments, self._context())
        assert intent is not None
        return intent

    async def processes(self, action: str, **given: object) -> str:
        arguments = msgspec.json.encode({"action": action, **given}).decode()
        async with asyncio.timeout(DEADLINE):
            output = await self._tools["processes"].run(arguments, self._context())
        return plain_text(output.content)

    async def refused(self, command: str, **given: object) -> str:
        try:
            answer = await self(command, **given)  # pyright: ignore[reportArgumentType]
        except ToolError as error:
            return str(error)
        raise AssertionError(f"it was not refused: {answer[:500]}")

    def running(self, command: str) -> "asyncio.Task[str]":
        """A command that somebody may give up waiting for."""
        return asyncio.create_task(self(command))

    async def seen(self, words: str) -> None:
        """Until people have been shown these words."""
        async with asyncio.timeout(DEADLINE):
            while words not in self.shown:
                self.heard.clear()
                await self.heard.wait()

    def _context(self, allowed: Allowed = "by default", user: UserId = USER) -> ToolContext:
        return ToolContext(
            user=user,
            session=self.session,
            turn=new_turn_id(),
            call=new_tool_call_id(),
            show=self._show,
            keep=_keep,
            allowed=allowed,
        )

    def _show(self, text: str) -> None:
        self.shown += text
        self.heard.set()

    async def _tell(self, user: UserId, session: SessionId, text: str) -> None:
        self.told.append((session, text))
        self.heard.set()

    async def _end(self, user: UserId, session: SessionId, text: str) -> None:
        self.ended.append((session, text))
        self.heard.set()


def endless() -> str:
    """A command that nobody else on this machine runs."""
    return f"sleep {10**6 + secrets.randbelow(10**9)}"


@asynccontextmanager
async def hands_on(
    folder: Path,
    kind: SandboxKind,
    clock: Clock | None = None,
    *,
    floor: DiskFloor | None = None,
) -> AsyncGenerator[Hands]:
    async with sandbox_of(kind) as sandbox:
        hands = Hands(folder / "workspaces", sandbox, clock or FakeClock(), floor)
        try:
            yield hands
        finally:
            await hands.workspaces.close()


async def _is_admin(user: UserId) -> bool:
    return user == USER


async def _keep(data: bytes, media_type: str) -> BlobId:
    return BlobId("blob")
