"""Stands between a server and its PostgreSQL, and counts what is asked."""

import asyncio
import contextlib
import struct
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import NamedTuple

_SOCKET = ".s.PGSQL.5432"


class Counts(NamedTuple):
    """`trips` are messages after which whoever asks waits for the answer."""

    statements: int
    trips: int
    commits: int


class Relay:
    def __init__(self, folder: Path, server: Path) -> None:
        self._folder = folder
        self._server = server
        self._kinds: Counter[str] = Counter()

    def address(self, url: str) -> str:
        """The same database, by way of here."""
        return url.partition("?")[0] + f"?host={self._folder}"

    def counts(self) -> Counts:
        kinds = self._kinds
        return Counts(kinds["E"] + kinds["words"], kinds["S"] + kinds["Q"], kinds["COMMIT"])

    async def serve(self, asks: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        server_in, server_out = await asyncio.open_unix_connection(self._server / _SOCKET)
        back = asyncio.create_task(_pass_on(server_in, answers))
        try:
            (size,) = struct.unpack("!I", head := await asks.readexactly(4))
            server_out.write(head + await asks.readexactly(size - 4))
            while True:
                head = await asks.readexactly(5)
                kind, size = struct.unpack("!cI", head)
                body = await asks.readexactly(size - 4)
                self._count(kind.decode(), body)
                server_out.write(head + body)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            back.cancel()
            answers.close()
            server_out.close()

    def _count(self, kind: str, body: bytes) -> None:
        """A query in words may hold several statements; one that is prepared is executed (E), and
        its answer asked for (S)."""
        self._kinds[kind] += 1
        if kind == "Q":
            self._kinds["words"] += body.count(b";") + 1
            if body.startswith(b"COMMIT"):
                self._kinds["COMMIT"] += 1


async def _pass_on(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(1 << 16):
            to.write(data)
    to.close()


@contextlib.asynccontextmanager
async def relay(folder: Path, server: Path) -> AsyncGenerator[Relay]:
    """`folder` gets a socket of its own, `server` has that of PostgreSQL."""
    counting = Relay(folder, server)
    async with await asyncio.start_unix_server(counting.serve, folder / _SOCKET):
        yield counting
