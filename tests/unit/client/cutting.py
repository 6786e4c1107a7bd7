"""A way to a server on which answers get lost."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from yarl import URL

from roost.client.place import Place, find


class Way:
    """Passes everything on. Of the next answers, as many bytes as `cuts` say: then it breaks."""

    def __init__(self, folder: Path) -> None:
        self.cuts: deque[int] = deque()
        self.broken = 0
        self._folder = folder
        self._port = 0

    def find(self) -> Place | None:
        there = find(self._folder)
        if there is None:
            return None
        return there._replace(url=URL.build(scheme="http", host="127.0.0.1", port=self._port))

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        server = await asyncio.start_server(self._pass, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        async with server:
            yield

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = find(self._folder)
        assert there is not None
        left = self.cuts.popleft() if self.cuts else None
        upstream, out = await asyncio.open_connection(there.url.host, there.url.port)
        asking = asyncio.create_task(_copy(reader, out))
        try:
            with suppress(ConnectionError):
                while chunk := await upstream.read(4096):
                    if left is not None and len(chunk) > left:
                        writer.write(chunk[:left])
                        await writer.drain()
                        self.broken += 1
                        return
                    writer.write(chunk)
                    await writer.drain()
                    left = None if left is None else left - len(chunk)
        finally:
            asking.cancel()
            writer.transport.abort() if left == 0 else writer.close()
            out.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(4096):
            writer.write(chunk)
            await writer.drain()
