"""The `terminal` tool: commands in the session's shell, in a fresh one, or in the background."""

from typing import Annotated

from msgspec import Meta

from roost.core.errors import WorkspaceError
from roost.tools.base import Intent, Tool, ToolContext, ToolError
from roost.tools.schema import tool
from roost.workspace.plain import as_text
from roost.workspace.terminal import Ran
from roost.workspace.workspace import Workspace
from roost.workspace.workspaces import Workspaces

LONGEST = 100_000
"""Bytes of a command: what the kernel takes as one argument, with room to spare."""
LONGEST_WAIT = 600

NETWORK = "It would have network access, this machine's own services included."
LOCAL = "It would run on this machine itself: nothing keeps it in a box."


class TerminalTool:
    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    def tools(self) -> tuple[Tool, ...]:
        return (tool(self.terminal, intent=self._intent, seconds=LONGEST_WAIT + 30.0),)

    async def terminal(
        self,
        context: ToolContext,
        command: str,
        wait: Annotated[int, Meta(ge=1, le=LONGEST_WAIT)] = 120,
        background: bool = False,
        notify: bool = False,
        network: bool = False,
    ) -> str:
        """Run a command in this session's bash. Directory, variables and functions last from one
        command to the next. What still runs after `wait` seconds (120) goes on in the background,
        as what is started with `background` does; `processes` looks after both, and `notify` tells
        you when it ends. There is no network unless `network` is asked for; such a command has a
        fresh shell."""
        _check(command)
        workspace = await self._workspaces.of(context.user, context.session)
        if context.approval is not None and context.approval.workspace != workspace.id:
            raise ToolError("The workspace that was asked about has ended. Ask again.")
        with workspace.used():
            try:
                ran = await _ran(
                    workspace,
                    context,
                    command,
                    wait=wait,
                    background=background,
                    notify=notify,
                    network=network and workspace.kind != "local",
                )
                return _result(ran, await workspace.take_news())
            except WorkspaceError as error:
                raise ToolError(str(error)) from error

    async def _intent(
        self,
        context: ToolContext,
        command: str,
        wait: int = 0,
        background: bool = False,
        notify: bool = False,
        network: bool = False,
    ) -> Intent:
        _check(command)
        workspace = await self._workspaces.of(context.user, context.session)
        local = workspace.kind == "local"
        return Intent(
            does="Start a command" if background else "Run a command",
            subject=command,
            command=True,
            asks=local or network,
            why=LOCAL if local else NETWORK if network else "",
            directory=as_text(workspace.terminal.directory),
            workspace=workspace.id,
        )


async def _ran(
    workspace: Workspace,
    context: ToolContext,
    command: str,
    *,
    wait: float,
    background: bool,
    notify: bool,
    network: bool,
) -> Ran:
    """A rule allows what a command says. In a shell that has a past it may mean something else."""
    terminal, by_rule = workspace.terminal, context.allowed == "by rule"
    if background:
        return await terminal.start(
            command,
            show=context.show,
            notify=notify,
            network=network,
            exported=not by_rule and not network,
        )
    if by_rule or network:
        return await terminal.run_fresh(
            command, wait=wait, show=context.show, network=network, notify=notify
        )
    return await terminal.run(command, wait=wait, show=context.show, notify=notify)


def _check(command: str) -> None:
    if "\0" in command:
        raise ToolError("A command can't have a NUL character in it.")
    try:
        length = len(command.encode())
    except UnicodeEncodeError as error:
        raise ToolError("The command is not valid Unicode.") from error
    if length > LONGEST:
        raise ToolError(f"The command is longer than {LONGEST} bytes. Write a file and run that.")
    if not command.strip():
        raise ToolError("The command is empty.")


def _result(ran: Ran, news: str) -> str:
    """What was printed, and after it, each on a line of its own, what there is to know of it."""
    said = [f"[{note}]" for note in ran.notes]
    if ran.process is not None:
        said.insert(0, f"[It runs on in the background as {ran.process}.]")
    elif ran.status:
        said.append(f"[exit status {ran.status} after {ran.seconds:.1f} s]")
    before = f"[{news}]\n" if news else ""
    text = ran.text if ran.text or said else "[no output]"
    apart = "\n" if text and said and not text.endswith("\n") else ""
    return before + text + apart + "\n".join(said)
