"""What the measurements stand on: a whole Roost in this process, and its model in another."""

import struct
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import msgspec

from bench.serving import serving
from roost.core.config import AgentsConfig, Config, ModelsConfig, ProviderConfig
from roost.core.events import Changed, SessionEvent, Streamed, TextDelta, TurnUpdated
from roost.core.ids import SessionId, UserId
from roost.core.settings import BaseUrl, Count
from roost.llm.base import Request, ToolSchema
from roost.llm.client import Endpoint, HttpClient
from roost.llm.profiles import Profile
from roost.runtime.account import Account
from roost.runtime.parts import Parts
from roost.store.folder import DATABASE
from roost.testing.models.script import Script
from roost.tools.base import ToolContext, ToolOutput
from roost.wiring import running

PROVIDER = "bench"
WORDS = "Tell me how this goes on, in about fifty words, and leave out what was said before. " * 2


class Nothing:
    """The most trivial tool."""

    schema = ToolSchema("nothing", "Does nothing.", msgspec.Raw(b'{"type":"object"}'))
    parallel = True
    seconds = 10.0

    async def intent(self, arguments: str, context: ToolContext) -> None:
        return None

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        return ToolOutput.of("Done.")


class Rig(msgspec.Struct, frozen=True):
    folder: Path
    parts: Parts
    user: UserId
    account: Account

    async def session(self, model: str) -> SessionId:
        """Titled, so that no model is asked for a title."""
        name = f"{PROVIDER}/{model}"
        return (await self.account.create(origin="bench", model=name, title="Bench")).id

    async def say(self, session: SessionId, words: str = WORDS) -> None:
        """A whole turn, watched from beginning to end."""
        async for event in self.account.talk(session, words):
            ends(event)

    async def request(self, session: SessionId) -> Request:
        """What the session's agent would ask of its model now."""
        store = self.parts.store.of(self.user)
        prompt = await store.sessions.prompt(session)
        found = await store.history.load(session)
        assert prompt is not None
        assert found.session.config is not None
        return Request(
            model=found.session.config.model,
            system=prompt.system,
            tools=(Nothing.schema,),
            messages=tuple(found.messages),
        )

    def commits(self) -> int:
        """How many transactions were committed: SQLite counts them in the log's index."""
        with (self.folder / f"{DATABASE}-shm").open("rb") as file:
            (count,) = struct.unpack_from("=I", file.read(12), 8)
        return count


@asynccontextmanager
async def opened(
    folder: Path, url: str, *, agents: int = 1024, context: int = 1_000_000
) -> AsyncGenerator[Rig]:
    provider = ProviderConfig(
        vendor="compatible", base_url=BaseUrl(f"{url}/v1"), context=Count(context)
    )
    config = Config(
        data=folder,
        agents=AgentsConfig(max=Count(agents)),
        models=ModelsConfig(default=f"{PROVIDER}/quick-50"),
        providers={PROVIDER: provider},
    )
    async with running(config, {}, {}, tools=[Nothing()]) as roost:
        owner = await roost.app.owner()
        yield Rig(folder, roost.app.parts, owner.id, roost.app.of(owner.id))


@asynccontextmanager
async def direct(url: str) -> AsyncGenerator[HttpClient]:
    """The model without Roost: what the agents' requests are compared with."""
    profile = Profile(wire="openai-chat")
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as connections:
        yield HttpClient(connections, Endpoint(PROVIDER, f"{url}/v1", {}), lambda _: profile)


@contextmanager
def scripted(script: Script) -> Generator[str]:
    """The scripted server, which keeps to a script."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "script.json"
        path.write_bytes(msgspec.json.encode(script))
        with serving("roost.testing.models", "--script", str(path)) as url:
            yield url


@contextmanager
def paced() -> Generator[str]:
    """The server whose tokens say when they were sent."""
    with serving("bench.engine.pacer") as url:
        yield url


# What a watcher sees.


def text_in(event: SessionEvent) -> str:
    if not isinstance(event, Streamed):
        return ""
    return "".join([delta.text for delta in event.deltas.deltas if isinstance(delta, TextDelta)])


def ends(event: SessionEvent) -> bool:
    """Whether a turn is over. One that failed would count as a quick one."""
    if not isinstance(event, Changed):
        return False
    states = [each for each in event.events if isinstance(each, TurnUpdated)]
    for each in states:
        assert each.state in ("queued", "running", "completed"), each.reason
    return any(each.state == "completed" for each in states)
