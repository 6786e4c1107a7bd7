"""Listening: our own socket, served by uvicorn until told to stop."""

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import Callable, Generator

import uvicorn
from starlette.types import ASGIApp

from roost.core.errors import AddressUnusable, PortTaken

# Requests that are still running after this are cancelled.
_GRACE_SECONDS = 10


def bind(host: str, port: int) -> socket.socket:
    """Take the address before anything else is told about it; port 0 takes a free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (UnicodeError, socket.gaierror) as error:
        raise AddressUnusable("no such host is known", host=host, port=port) from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(host=host, port=port) from error
        reason = os.strerror(error.errno or 0).lower()
        raise AddressUnusable(reason, host=host, port=port) from error


def address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def serve(
    app: ASGIApp,
    listener: socket.socket,
    *,
    ready: Callable[[], None],
    stop: asyncio.Event,
    log_requests: bool,
) -> None:
    """Answer requests until `stop` is set; call `ready` once the first can be answered."""
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=log_requests,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    await _Server(config, ready, stop).serve([listener])


class _Server(uvicorn.Server):
    """uvicorn, without its signal handling, which would end a clean stop with the signal again."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], stop: asyncio.Event
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._stop = stop

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def on_tick(self, counter: int) -> bool:
        return self._stop.is_set() or await super().on_tick(counter)
