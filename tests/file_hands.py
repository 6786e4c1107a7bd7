"""The file tools as an agent uses them: decided about, then run, on real folders."""

from pathlib import Path

import msgspec

from roost.core.config import WorkspacesConfig
from roost.core.ids import (
    BlobId,
    ToolCallId,
    UserId,
    new_session_id,
    new_tool_call_id,
    new_turn_id,
)
from roost.core.messages import plain_text
from roost.testing.clock import FakeClock
from roost.tools.base import Allowed, Intent, ToolContext, ToolError, ToolOutput
from roost.tools.file_access import HasRoom
from roost.tools.files import file_tools
from roost.workspace.base import Sandbox
from roost.workspace.workspaces import HomeOf, Workspaces

USER = UserId("usr_1")


async def _anyone(user: UserId) -> bool:
    return True


class FileHands:
    """Of one session. `outside` is beside the workspace: nothing may get in or out there."""

    def __init__(
        self,
        root: Path,
        *,
        read: tuple[Path, ...] = (),
        write: tuple[Path, ...] = (),
        has_room: HasRoom | None = None,
        sandbox: Sandbox | None = None,
        search_seconds: float = 20.0,
        home_of: HomeOf | None = None,
    ) -> None:
        config = WorkspacesConfig(
            read=tuple([str(path) for path in read]), write=tuple([str(path) for path in write])
        )
        self.workspaces = Workspaces(
            sandbox,
            root / "data" / "workspaces",
            config,
            clock=FakeClock(),
            is_admin=_anyone,
            home_of=home_of,
        )
        self.outside = root / "outside"
        self.outside.mkdir(exist_ok=True)
        self.session = new_session_id()
        self.kept: dict[BlobId, tuple[bytes, str]] = {}
        tools = file_tools(self.workspaces, has_room=has_room, search_seconds=search_seconds)
        self._tools = {tool.schema.name: tool for tool in tools}

    async def open(self) -> "FileHands":
        workspace = await self.workspaces.of(USER, self.session)
        self.home = workspace.ground.home.host
        self.output = workspace.ground.folders[1].host
        return self

    async def intent(self, name: str, call: ToolCallId | None = None, **given: object) -> Intent:
        intent = await self._tools[name].intent(_json(given), self._context(call))
        assert intent is not None
        return intent

    async def run(
        self,
        name: str,
        call: ToolCallId | None = None,
        allowed: Allowed = "by default",
        **given: object,
    ) -> ToolOutput:
        """Only run it: whoever decided about it did so before."""
        return await self._tools[name].run(_json(given), self._context(call, allowed))

    async def output_of(self, name: str, **given: object) -> ToolOutput:
        call = new_tool_call_id()
        intent = await self.intent(name, call, **given)
        return await self.run(name, call, "by a person" if intent.asks else "by default", **given)

    async def __call__(self, name: str, **given: object) -> str:
        return plain_text((await self.output_of(name, **given)).content)

    async def read(self, path: str, **given: object) -> str:
        return await self("read_file", path=path, **given)

    async def write(self, path: str, content: str) -> str:
        return await self("write_file", path=path, content=content)

    async def edit(self, path: str, old: str, new: str, **given: object) -> str:
        return await self("edit_file", path=path, old=old, new=new, **given)

    async def refused(self, name: str, **given: object) -> str:
        """What the model is told instead of a result."""
        try:
            answer = await self(name, **given)
        except ToolError as error:
            return str(error)
        raise AssertionError(f"{name} was not refused: {answer[:500]}")

    def _context(self, call: ToolCallId | None, allowed: Allowed = "by default") -> ToolContext:
        return ToolContext(
            user=USER,
            session=self.session,
            turn=new_turn_id(),
            call=call or new_tool_call_id(),
            show=lambda text: None,
            keep=self._keep,
            allowed=allowed,
        )

    async def _keep(self, data: bytes, media_type: str) -> BlobId:
        blob = BlobId(f"blob{len(self.kept)}")
        self.kept[blob] = data, media_type
        return blob


def _json(given: dict[str, object]) -> str:
    return msgspec.json.encode(given).decode()
