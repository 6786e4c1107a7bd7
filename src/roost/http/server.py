"""Listening: our own socket, served by uvicorn until told to stop."""

import asyncio
import contextlib
import errno
import hashlib
import os
import socket
import ssl
from collections.abc import Callable, Generator
from pathlib import Path
from typing import NamedTuple

import uvicorn
from starlette.types import ASGIApp

from roost.core.config import ServerConfig
from roost.core.errors import AddressUnusable, ConfigError, PortTaken
from roost.http.connection import PATIENCE, Connection

# Requests that are still running after this are cancelled.
_GRACE_SECONDS = 10
_KEEP_ALIVE_SECONDS = 60

_PEM_BEGIN = "-----BEGIN CERTIFICATE-----"
_PEM_END = "-----END CERTIFICATE-----"


class Tls(NamedTuple):
    """The files of a certificate and of its key."""

    cert: str
    key: str


def tls_of(config: ServerConfig) -> Tls | None:
    """Checked before anything is served: uvicorn would only say that something is wrong."""
    if config.tls_cert is None and config.tls_key is None:
        return None
    if config.tls_cert is None or config.tls_key is None:
        raise ConfigError("TLS needs both server.tls_cert and server.tls_key.")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            config.tls_cert, config.tls_key
        )
    except (OSError, ssl.SSLError) as error:
        said = f"The files of server.tls_cert and server.tls_key can't be used: {error.strerror}."
        raise ConfigError(said) from error
    return Tls(config.tls_cert, config.tls_key)


def fingerprint(tls: Tls) -> bytes:
    """Of the certificate that clients are shown: the first in its file."""
    first, end, _ = Path(tls.cert).read_text().partition(_PEM_END)
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(first[first.index(_PEM_BEGIN) :] + end)).digest()


def bind(host: str, port: int) -> socket.socket:
    """Take the address before anything else is told about it; port 0 takes a free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (UnicodeError, socket.gaierror) as error:
        raise AddressUnusable(host=host, port=port, reason="no such host is known") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(host=host, port=port) from error
        reason = os.strerror(error.errno or 0).lower()
        raise AddressUnusable(host=host, port=port, reason=reason) from error


def address(listener: socket.socket, *, scheme: str = "http") -> str:
    host, port = listener.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


async def serve(
    app: ASGIApp,
    listener: socket.socket,
    *,
    ready: Callable[[], None],
    stop: asyncio.Event,
    log_requests: bool,
    tls: Tls | None = None,
    patience: float = PATIENCE,
) -> None:
    """Answer requests until `stop` is set; call `ready` once the first can be answered. Whoever
    does not read an answer for `patience` seconds is hung up on."""

    class Patient(Connection):
        pass

    Patient.patience = patience
    config = uvicorn.Config(
        app,
        http=Patient,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=log_requests,
        server_header=False,
        proxy_headers=False,  # uvicorn would believe anyone on this machine
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        ssl_certfile=None if tls is None else tls.cert,
        ssl_keyfile=None if tls is None else tls.key,
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
