"""The `processes` tool: what runs in the background of the session's workspace."""

from typing import Annotated, Literal

from msgspec import Meta

from roost.core.clock import Clock
from roost.core.errors import WorkspaceError
from roost.tools.base import Intent, Tool, ToolContext, ToolError
from roost.tools.schema import tool
from roost.tools.terminal import LOCAL, NETWORK
from roost.workspace.processes import Process, ProcessView
from roost.workspace.workspace import Workspace
from roost.workspace.workspaces import Workspaces

LONGEST_WAIT = 300
LONGEST_TEXT = 64_000
_SHORT = 100
_DOES = {
    "list": "List processes",
    "poll": "Look at a process",
    "write": "Type to a process",
    "kill": "End a process",
}
_ANSWER = 1.0
"""Seconds for an answer to what was typed."""


class ProcessesTool:
    def __init__(self, workspaces: Workspaces, clock: Clock) -> None:
        self._workspaces = workspaces
        self._clock = clock

    def tools(self) -> tuple[Tool, ...]:
        return (tool(self.processes, seconds=LONGEST_WAIT + 30.0, intent=self._intent),)

    async def processes(
        self,
        context: ToolContext,
        action: Literal["list", "poll", "write", "kill"],
        id: str = "",
        text: Annotated[str, Meta(max_length=LONGEST_TEXT)] = "",
        wait: Annotated[int, Meta(ge=0, le=LONGEST_WAIT)] = 0,
    ) -> str:
        """Look after what runs in the background. poll: new output of `id` and whether it runs
        still, after up to `wait` seconds for either to change. write: type `text` (with its
        newline; \\u0003 interrupts, \\u0004 ends input). kill: end it and all that it started."""
        workspace = await self._workspaces.of(context.user, context.session)
        with workspace.used():
            try:
                said = await self._done(workspace, action, id, text, wait)
            except WorkspaceError as error:
                raise ToolError(str(error)) from error
            news = await workspace.take_news()
        return f"[{news}]\n{said}" if news else said

    async def _intent(
        self,
        context: ToolContext,
        action: Literal["list", "poll", "write", "kill"],
        id: str = "",
        text: str = "",
        wait: int = 0,
    ) -> Intent:
        """What is typed to a shell is a command like any other."""
        workspace = await self._workspaces.of(context.user, context.session)
        try:
            network = action == "write" and workspace.processes.find(id).network
        except WorkspaceError as error:
            raise ToolError(str(error)) from error
        local = workspace.kind == "local"
        return Intent(
            does=_DOES[action],
            subject=f"{id} {text}".strip(),
            asks=action == "write" and (local or network),
            why=LOCAL if local else NETWORK if network else "",
            workspace=workspace.id,
        )

    async def _done(
        self, workspace: Workspace, action: str, id: str, text: str, wait: float
    ) -> str:
        if action == "list":
            views = workspace.processes.views()
            return "\n".join([self._line(view) for view in views]) or "[nothing]"
        if not id:
            raise ToolError(f"`{action}` needs the `id` of a process; `list` shows them.")
        process = workspace.processes.find(id)
        if action == "write":
            try:
                await process.write(text)
            except UnicodeEncodeError as error:
                raise ToolError("The text is not valid Unicode.") from error
        elif action == "kill":
            await process.kill()
        return await self._polled(process, _ANSWER if action == "write" else wait)

    async def _polled(self, process: Process, wait: float) -> str:
        output = await process.poll(wait)
        apart = "\n" if output and not output.endswith("\n") else ""
        return f"{output}{apart}[{process.id} {self._state(process.view)}]"

    def _line(self, view: ProcessView) -> str:
        command = " ".join(view.command.split())
        short = command if len(command) <= _SHORT else f"{command[:_SHORT]}..."
        return f"{view.id} {self._state(view)}: {short}"

    def _state(self, view: ProcessView) -> str:
        if view.status is None:
            return f"runs for {(self._clock.now() - view.since) / 1000:.0f} s"
        seconds = ((view.until or view.since) - view.since) / 1000
        return f"ended with status {view.status} after {seconds:.0f} s"
