"""Stands between a store and its PostgreSQL, and cuts connections where it hurts most."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlsplit

_SOCKET = ".s.PGSQL.5432"
Moment = Literal["before", "after", "late", "never", "silent"]
LATE = 0.3


class Cutter:
    """`cut` is when to cut at the next COMMIT: before the server has it, or after it has answered,
    with the answer on its way. The server gets a `late` one all the same, a little after the cut;
    one that gets there `never` keeps both waiting, and of a `silent` one only the answer does not
    come. While it is `shut`, nobody comes through."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.cut: Moment | None = None
        self.cuts = 0
        self.shut = False
        self.answers: Callable[[bytes], bytes] = bytes
        """What becomes of what the server says."""
        self._happened = asyncio.Event()
        self._folder = folder
        self._server = server
        self._open: set[asyncio.StreamWriter] = set()
        self._silent: set[asyncio.StreamWriter] = set()

    async def cut_at(self, moment: Moment) -> None:
        """Wait for the next COMMIT, and cut there."""
        self._happened.clear()
        self.cut = moment
        await self._happened.wait()

    def address(self, url: str) -> str:
        """The same database, by way of here."""
        return url.partition("?")[0] + f"?host={self._folder}"

    def cut_all(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    def silence_all(self) -> None:
        """Those that are open stay so, and nothing comes through any more. Others can be made."""
        self._silent |= self._open

    async def serve(
        self, client_in: asyncio.StreamReader, client_out: asyncio.StreamWriter
    ) -> None:
        try:
            if self.shut:
                raise ConnectionRefusedError
            server_in, server_out = await asyncio.open_unix_connection(self._server / _SOCKET)
        except OSError:
            client_out.transport.abort()
            return
        ends = {client_out, server_out}
        self._open |= ends
        back = asyncio.create_task(self._answer(server_in, client_out))
        try:
            while data := await client_in.read(1 << 16):
                if self.cut is not None and b"COMMIT" in data:
                    back.cancel()
                    await asyncio.wait([back])
                    await self._cut_off(data, client_out, server_in, server_out)
                    return
                if client_out not in self._silent:
                    server_out.write(data)
                await server_out.drain()
        except OSError:
            pass
        finally:
            back.cancel()
            for writer in ends:
                writer.transport.abort()
            self._open -= ends

    async def _cut_off(
        self,
        commit: bytes,
        client: asyncio.StreamWriter,
        answer: asyncio.StreamReader,
        server: asyncio.StreamWriter,
    ) -> None:
        moment, self.cut = self.cut, None
        self.cuts += 1
        self._happened.set()
        if moment == "late":
            client.transport.abort()
            await asyncio.sleep(LATE)
        if moment in ("late", "after", "silent"):
            server.write(commit)
        if moment != "before":
            await answer.read(1)  # the answer, or the end of the server
        if moment == "silent":
            await answer.read()

    async def _answer(self, server: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await server.read(1 << 16):
                if client not in self._silent:
                    client.write(self.answers(data))
                await client.drain()
        client.transport.abort()


@contextlib.asynccontextmanager
async def cutting(url: str, folder: Path) -> AsyncGenerator[Cutter]:
    server = Path(parse_qs(urlsplit(url).query)["host"][0])
    cutter = Cutter(folder, server)
    async with await asyncio.start_unix_server(cutter.serve, folder / _SOCKET):
        try:
            yield cutter
        finally:
            cutter.cut_all()


def nothing(said: bytes) -> bytes:
    """The connection stands, and nobody hears what is said on it."""
    return b""


def as_a_pooler(said: bytes) -> bytes:
    """It says that it is somebody else, as whoever stands between a server and its clients does."""
    at = said.find(b"K\x00\x00\x00\x0c")
    return said if at < 0 else said[: at + 5] + b"\x00\x00\x00\x01" + said[at + 9 :]
