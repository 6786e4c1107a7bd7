"""Messages over the pipes of a server's process: one line of JSON each."""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Callable
from typing import TypeAlias

import anyio
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from roost.tools.mcp.launching import read_pipe
from roost.workspace.base import Child

log = structlog.stdlib.get_logger("roost.mcp")

LONGEST = 32_000_000
"""Bytes of a line. A server that writes more is given up."""

Incoming: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing: TypeAlias = MemoryObjectSendStream[SessionMessage]


@contextlib.asynccontextmanager
async def messages(
    child: Child, ended: Callable[[], None]
) -> AsyncGenerator[tuple[Incoming, Outgoing]]:
    """For as long as the block lasts. `ended` is called once the server says nothing more."""
    assert child.stdin is not None
    assert child.output is not None
    reader, listening = await read_pipe(os.dup(child.output), limit=LONGEST)
    writer = await _write_pipe(os.dup(child.stdin))
    child.close()  # so that the copies are the only ones: closing them is heard at the other end
    heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, said = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_hear(reader, heard, ended)),
        asyncio.create_task(_say(said, writer)),
    ]
    try:
        yield incoming, outgoing
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for stream in (heard, incoming, outgoing, said):
            stream.close()
        writer.close()
        listening.close()


async def _hear(
    reader: asyncio.StreamReader,
    heard: MemoryObjectSendStream[SessionMessage | Exception],
    ended: Callable[[], None],
) -> None:
    """Closing the stream tells every call that waits."""
    try:
        with heard:
            while line := await reader.readline():
                if (message := _message(line)) is not None:
                    await heard.send(message)
    except ValueError:
        log.warning("a server wrote a line that is too long")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        pass  # this end was closed, or theirs
    finally:
        ended()


def _message(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        if line.strip():
            log.debug("a server wrote something else than messages", bytes=len(line))
        return None


async def _say(
    said: MemoryObjectReceiveStream[SessionMessage], writer: asyncio.StreamWriter
) -> None:
    with said, contextlib.suppress(OSError):
        async for each in said:
            written = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            writer.write(written.encode("utf-8", "replace") + b"\n")
            await writer.drain()


async def _write_pipe(fd: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(fd, "wb", 0)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)
