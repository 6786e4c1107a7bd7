"""What agents act with: the sandbox, workspaces, and every tool that the configuration gives."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping

import msgspec
import structlog

from roost.core.clock import Clock
from roost.core.config import Config
from roost.core.ids import SessionId, UserId
from roost.runtime.agent_schedules import AgentSchedules
from roost.runtime.past_sessions import StoredSessions
from roost.runtime.subagents import Subagents
from roost.store.folder import WORKSPACES
from roost.store.store import Store
from roost.tools.ask_user import ASK_USER
from roost.tools.base import Tool
from roost.tools.browser import BrowserTool
from roost.tools.delegate import Delegate
from roost.tools.download import Downloads
from roost.tools.files import file_tools
from roost.tools.mcp.servers import serving
from roost.tools.processes import ProcessesTool
from roost.tools.schedule import ScheduleTool
from roost.tools.search import Search, service_of
from roost.tools.session_search import SessionSearch
from roost.tools.terminal import TerminalTool
from roost.tools.todo import TODO
from roost.tools.toolsets import Toolsets
from roost.tools.web import Web
from roost.wiring.background import going_on
from roost.workspace.addresses import Guard
from roost.workspace.browser import Browser, unavailable
from roost.workspace.disk import DiskFloor
from roost.workspace.local import LocalSandbox
from roost.workspace.probe import choose
from roost.workspace.tabs import AllTabs
from roost.workspace.workspaces import HomeOf, Workspaces

log = structlog.stdlib.get_logger("roost.tools")

_MB = 1 << 20


class Hands(msgspec.Struct, frozen=True):
    """`subagents` and `schedules` have to be told of the application once there is one."""

    workspaces: Workspaces
    tools: Toolsets
    subagents: Subagents
    schedules: AgentSchedules


@contextlib.asynccontextmanager
async def hands(
    config: Config,
    environ: Mapping[str, str],
    store: Store,
    clock: Clock,
    *,
    tools: Iterable[Tool],
) -> AsyncGenerator[Hands]:
    """Everything agents act with, for as long as the block lasts; `tools` come first."""
    async with contextlib.AsyncExitStack() as stack:
        sandbox = await choose(config.workspaces, config.data)
        if sandbox is not None:
            stack.push_async_callback(sandbox.close)
        floor = DiskFloor(config.data, config.workspaces.disk_floor * _MB)
        await stack.enter_async_context(going_on(floor.run()))
        workspaces = Workspaces(
            sandbox,
            config.data / WORKSPACES,
            config.workspaces,
            clock=clock,
            is_admin=_admins(store),
            agents_idle=config.agents.idle_ttl,
            floor=floor,
            home_of=_homes(store),
        )
        stack.push_async_callback(workspaces.close)
        subagents, schedules = Subagents(config.tools), AgentSchedules()
        found: list[Tool] = [
            *tools,
            TODO,
            ASK_USER,
            *SessionSearch(StoredSessions(store)).tools(),
            *Delegate(subagents).tools(),
            ScheduleTool(schedules),
            *file_tools(workspaces, has_room=floor.has_room),
            *await _web(config, environ, workspaces, stack),
        ]
        if sandbox is not None:
            found += [
                *TerminalTool(workspaces).tools(),
                *ProcessesTool(workspaces, clock).tools(),
            ]
        late = await _servers(config, stack)
        toolsets = Toolsets(found, default=config.tools.toolset, late=late)
        yield Hands(workspaces, toolsets, subagents, schedules)


def _admins(store: Store) -> Callable[[UserId], Awaitable[bool]]:
    async def is_admin(user: UserId) -> bool:
        return (await store.users.get(user)).role == "admin"

    return is_admin


def _homes(store: Store) -> HomeOf:
    async def home_of(user: UserId, session: SessionId) -> SessionId:
        """A subagent works on the files of whoever called it."""
        sessions = store.of(user).sessions
        while (parent := (await sessions.get(session)).parent) and parent.kind == "subagent":
            session = parent.session
        return session

    return home_of


async def _web(
    config: Config,
    environ: Mapping[str, str],
    workspaces: Workspaces,
    stack: contextlib.AsyncExitStack,
) -> list[Tool]:
    guard = Guard()
    found = [*Web(Downloads(guard)).tools()]
    if (service := service_of(config.web, environ)) is not None:
        found += Search(service).tools()
    if config.web.browser == "no":
        return found
    if (why := unavailable(environ)) is not None:
        log.debug("there is no browser tool", why=why)
        return found
    browser = Browser(guard, config.data / "browser", environ)
    stack.push_async_callback(browser.close)
    return [*found, *BrowserTool(workspaces, AllTabs(browser)).tools()]


async def _servers(
    config: Config, stack: contextlib.AsyncExitStack
) -> Callable[[], Iterable[Tool]]:
    """Servers of tools run on the machine itself: whoever set them up answers for them."""
    if not config.mcp:
        return tuple
    sandbox = LocalSandbox()
    stack.push_async_callback(sandbox.close)
    folder = config.data / "mcp"
    servers = await stack.enter_async_context(serving(config.mcp, sandbox, folder))
    await servers.settled()
    return servers.tools
