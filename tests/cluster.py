"""Several `roost run` on one PostgreSQL: each a process with a data folder of its own."""

import asyncio
import base64
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import aiohttp
from yarl import URL

from roost.client.account import Account
from roost.client.connection import connected
from roost.client.identities import Identities
from roost.client.place import find
from roost.core.identities import SCOPES
from roost.core.ids import UserId
from roost.testing.models import ModelServer
from tests import ports
from tests.unit.http.served import Client

SECONDS = 180
"""For a server to start or to stop, while others do the same."""

CONFIG = """
[models]
default = "test/model"
small = "test/small"

[memory]
provider = "none"

[providers.test]
vendor = "compatible"
base_url = "{url}"
models = ["model", "other", "small"]
"""

_KEY = base64.b64encode(bytes(range(32))).decode()
_DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")


class Server:
    """One of them. `account` and `identities` are the owner's, by the credential in its folder;
    `client` has the API token that holds on all of them."""

    account: Account
    identities: Identities
    client: Client

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        self.url = URL()
        self._port = ports.held()
        self._environ = environ
        self._process: Process | None = None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def process(self) -> Process:
        assert self._process is not None, "it was not started"
        return self._process

    @property
    def log(self) -> str:
        """What it wrote, in all its lives."""
        return (self.folder / "log").read_text()

    async def start(self) -> None:
        """Until it is ready. It is always where it was."""
        with (self.folder / "log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *_DIES_WITH_US,
                sys.executable,
                *("-m", "roost", "run", "--port", str(ports.number(self._port))),
                env=self._environ,
                cwd=self.folder,
                stdout=PIPE,
                stderr=log,
            )
        self.url = URL(await self._greeting())

    async def _greeting(self) -> str:
        """Where it listens, once it does."""
        out = self.process.stdout
        assert out is not None
        address = ""
        try:
            async with asyncio.timeout(SECONDS):
                while line := (await out.readline()).decode():
                    if line.startswith("Stop with"):
                        return address
                    if line.split()[0] == "Address":
                        address = line.split()[1]
        except TimeoutError as error:
            error.add_note(f"Roost was not ready in time: {self.log}")
            raise
        raise AssertionError(f"Roost did not start: {self.log}")

    async def kill(self) -> None:
        """`kill -9`."""
        await self._end(signal.SIGKILL)

    async def close(self) -> None:
        if self.runs:
            await self.kill()
        self._port.close()

    async def terminate(self) -> int:
        """As `systemctl stop` does; its exit code."""
        return await self._end(signal.SIGTERM)

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def _end(self, number: signal.Signals) -> int:
        if self.runs:
            self.process.send_signal(number)
        async with asyncio.timeout(SECONDS):
            return await self.process.wait()


class Cluster:
    """`token` is the owner's, on all of them."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self.servers = servers
        self.owner = UserId("")
        self.token = ""

    def __getitem__(self, number: int) -> Server:
        return self.servers[number]

    def __iter__(self) -> Iterator[Server]:
        return iter(self.servers)

    async def connect(self, stack: AsyncExitStack) -> None:
        """Have an account and a client for each; the first gives the token."""
        for server in self.servers:
            there = connected(partial(find, server.data), patience=SECONDS)
            connection = await stack.enter_async_context(there)
            server.account = Account(connection)
            server.identities = Identities(connection)
        people = self.servers[0].identities.people
        self.owner = (await people.owner()).id
        made = await self.servers[0].identities.create_token(self.owner, name="test", scopes=SCOPES)
        self.token = made.secret.reveal()
        for server in self.servers:
            server.client = await stack.enter_async_context(client_of(server, self.token))


@asynccontextmanager
async def client_of(server: Server, token: str) -> AsyncGenerator[Client]:
    """Whoever has a token, at one of the servers."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=SECONDS, sock_read=SECONDS)
    async with aiohttp.ClientSession(
        headers={"Authorization": f"Bearer {token}"},
        connector=aiohttp.TCPConnector(limit=0),
        timeout=timeout,
    ) as opened:
        yield Client(server, opened)


@asynccontextmanager
async def running(
    folder: Path,
    models: ModelServer,
    addresses: Sequence[str],
    environ: Mapping[str, str] | None = None,
) -> AsyncGenerator[Cluster]:
    """A server for each address: all of the same database, maybe by ways of their own. `environ`
    is for settings."""
    file = folder / "roost.toml"
    file.write_text(CONFIG.format(url=models.openai_url))
    servers: list[Server] = []
    for number, address in enumerate(addresses):
        home = folder / f"server-{number}"
        home.mkdir()
        given = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "ROOST_CONFIG": str(file),
            "ROOST_DATA": str(home / "data"),
            "ROOST_STORE": address,
            "ROOST_SECRET_KEY": _KEY,
            "ROOST_LOG_LEVEL": "warning",
            **(environ or {}),
        }
        servers.append(Server(home, given))
    try:
        async with AsyncExitStack() as stack:
            await asyncio.gather(*[server.start() for server in servers])
            cluster = Cluster(servers)
            await cluster.connect(stack)
            yield cluster
    finally:
        for server in servers:
            await server.close()
