"""A whole Roost under test: real store, real engine, scripted model; stopped, crashed and started
again on the same folder."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import aiohttp
import msgspec

from roost.agent.execution import Guard
from roost.agent.masking import Mask
from roost.core.clock import Clock
from roost.core.config import Config, ModelsConfig, ProviderConfig, ServerConfig
from roost.core.events import (
    Changed,
    SessionEvent,
    Snapshot,
    Streamed,
    TextDelta,
    TurnUpdated,
)
from roost.core.ids import SessionId, TurnId
from roost.core.keys import Key
from roost.core.messages import Message, plain_text
from roost.core.settings import BaseUrl
from roost.core.turns import ENDED, Effort, Turn, TurnState
from roost.llm.base import ToolSchema
from roost.llm.clients import Clients
from roost.llm.prices import Prices
from roost.llm.providers import Providers
from roost.memory.base import MemoryProvider
from roost.runtime import app as runtime
from roost.runtime.account import Account
from roost.runtime.building import Builder
from roost.runtime.parts import Parts
from roost.testing.models import ModelServer
from roost.tools.base import Intent, Tool, ToolContext, ToolOutput
from roost.tools.toolsets import Toolsets
from roost.wiring.guarding import rules_of
from roost.workspace.workspaces import Workspaces
from tests.store_driver import open_any

T = TypeVar("T")

ASKS = Intent(does="Do it", subject="Sure?", asks=True)

SECONDS = 60

STILL = {*ENDED, "waiting"}


class FunctionTool:
    """A tool made of a function of its arguments; `asks` makes it wait for a person first."""

    def __init__(
        self,
        name: str,
        run: Callable[[str, ToolContext], Awaitable[str]],
        *,
        parallel: bool = True,
        seconds: float = 10.0,
        asks: Intent | None = None,
    ) -> None:
        parameters = msgspec.Raw(b'{"type":"object","properties":{"text":{"type":"string"}}}')
        self.schema = ToolSchema(name, f"The tool {name}.", parameters)
        self.parallel = parallel
        self.seconds = seconds
        self._run = run
        self._asks = asks

    async def intent(self, arguments: str, context: ToolContext) -> Intent | None:
        return self._asks

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        return ToolOutput.of(await self._run(arguments, context))


async def _say_back(arguments: str, context: ToolContext) -> str:
    context.show("echoing")
    return arguments


ECHO = FunctionTool("echo", _say_back)


def config_for(folder: Path, server: ModelServer) -> Config:
    url = BaseUrl(server.openai_url)
    provider = ProviderConfig(vendor="compatible", base_url=url, models=("model", "other", "small"))
    claude = ProviderConfig(vendor="anthropic", base_url=url)
    newer = ProviderConfig(vendor="compatible", base_url=url, wire="openai-responses")
    return Config(
        data=folder,
        server=ServerConfig(grace=timedelta(milliseconds=50)),
        models=ModelsConfig(default="test/model", small="test/small"),
        providers={"test": provider, "claude": claude, "responses": newer},
    )


class Engine:
    """`account` is the owner's, while it runs. The last thing said in it is named in `session`."""

    def __init__(
        self,
        folder: Path,
        server: ModelServer,
        *,
        clock: Clock,
        tools: Sequence[Tool] = (ECHO,),
        config: Config | None = None,
        memories: Mapping[str, MemoryProvider] | None = None,
        late: Callable[[], Sequence[Tool]] = tuple,
        workspaces: Workspaces | None = None,
    ) -> None:
        self.folder = folder
        self.server = server
        self.clock = clock
        self.tools = tools
        self.late = late
        self.memories = memories or {}
        self.workspaces = workspaces
        self.config = config or config_for(folder, server)
        self._stack = AsyncExitStack()

    async def start(self) -> None:
        stack = AsyncExitStack()
        ttl = self.config.leases.ttl.total_seconds()
        self.store = await open_any(self.folder, self.clock, lease_ttl=ttl)
        stack.push_async_callback(self.store.close)
        connector = aiohttp.TCPConnector(limit=0)
        connections = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
        providers = Providers.of(self.config, {"claude": Key("secret")}, {})
        clients = Clients(providers, connections, connections)
        stack.push_async_callback(clients.close)
        prices = Prices(self.config.models.prices)
        threshold = self.config.compaction.threshold / 100
        tools = Toolsets(self.tools, late=self.late)
        guard = Guard(rules_of(self.config.approvals), Mask())
        builder = Builder(
            self.store, providers, clients, prices, tools, threshold=threshold, guard=guard
        )
        opened = runtime.running(
            self.store,
            builder,
            self.config,
            clock=self.clock,
            memories=self.memories,
            workspaces=self.workspaces,
        )
        self.app = await stack.enter_async_context(opened)
        self.parts: Parts = self.app.parts
        self.owner = await self.app.owner()
        self.account: Account = self.app.of(self.owner.id)
        self._stack = stack

    async def stop(self) -> None:
        await self._stack.aclose()

    async def crash(self) -> None:
        """As after `kill -9`: from this moment on nothing more is written."""
        await self.store.close()
        await self._stack.aclose()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    # In few words.

    async def session(
        self, *, model: str | None = None, title: str | None = "Session"
    ) -> SessionId:
        """Titled, so that no model is asked for one."""
        return (await self.account.create(origin="test", model=model, title=title)).id

    async def say(
        self, session: SessionId, words: str = "Hello", *, effort: Effort | None = None
    ) -> Turn:
        """Send a message and wait for the end of its turn."""
        turn = await self.account.send(session, words, effort=effort)
        return await self.ended(turn.id)

    async def ended(self, turn: TurnId) -> Turn:
        return await self.reached(turn, *ENDED)

    async def reached(self, turn: TurnId, *states: TurnState) -> Turn:
        """Wait until a turn is in one of these states and, where it runs no more, until the engine
        knows that as well as the store."""
        store = self.store.of(self.owner.id)
        session = (await store.turns.get(turn)).session
        async with asyncio.timeout(SECONDS), self.account.watch(session) as events:
            while (found := await store.turns.get(turn)).state not in states:
                await anext(events)
            if found.state in STILL:
                await eventually(lambda: self._knows_to_be_still(session, turn))
        return found

    async def _knows_to_be_still(self, session: SessionId, turn: TurnId) -> bool:
        return self.parts.turns.running(session) != turn

    async def streamed(self, session: SessionId, words: str) -> None:
        """Wait until somebody who watches has seen these words."""
        async with asyncio.timeout(SECONDS), self.account.watch(session) as events:
            seen = ""
            async for event in events:
                seen += said(event)
                if words in seen:
                    return

    async def texts(self, session: SessionId) -> list[str]:
        """What was said, without what Roost added."""
        return [plain_text(message.parts) for message in await self.messages(session)]

    async def messages(self, session: SessionId) -> Sequence[Message]:
        return await self.account.messages(session, limit=200)


def said(event: SessionEvent) -> str:
    if isinstance(event, Streamed):
        found = event.deltas.deltas
    elif isinstance(event, Snapshot):
        found = [delta for run in event.deltas for delta in run.deltas]
    else:
        return ""
    return "".join([delta.text for delta in found if isinstance(delta, TextDelta)])


def states(event: SessionEvent) -> list[TurnState]:
    if not isinstance(event, Changed):
        return []
    return [each.state for each in event.events if isinstance(each, TurnUpdated)]


@asynccontextmanager
async def started(engine: Engine) -> AsyncGenerator[Engine]:
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


async def eventually(check: Callable[[], Awaitable[T]]) -> T:
    """The first truthy answer, for what happens in the background and tells nobody."""
    async with asyncio.timeout(SECONDS):
        while not (answer := await check()):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        return answer
