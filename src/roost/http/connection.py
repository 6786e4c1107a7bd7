"""One connection of a client, as uvicorn serves it, with limits of its own."""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any, ClassVar, cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 20.0
HEAD_BYTES = 64 << 10
"""Of a request's first line and headers, or of what comes between the pieces of its body and after
them: uvicorn would collect either without end."""
MOST_WAITING = 32
"""Requests that come before the one ahead of them has its answer."""
PATIENCE = 30.0
REST_SECONDS = 5.0

_ABORT_SECONDS = 1.0
_KEY = "roost.connection"
_NO_LINGER = struct.pack("ii", 1, 0)


class Connection(HttpToolsProtocol):
    """Hangs up on whoever takes too long or too much to say what they want, or does not read what
    they get for `patience` seconds. Who has their answer before all of the request was read may go
    on with it for a moment: hanging up at once could take the answer away from them."""

    patience: ClassVar[float] = PATIENCE
    _head: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _unread: asyncio.TimerHandle | None = None
    _rest: asyncio.TimerHandle | None = None
    _asked = True
    """Whether all of the request came."""
    _lost = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        for timer in (self._head, self._unread, self._rest):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > HEAD_BYTES and (self._head is not None or not self._asked):
            self._hang_up()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self.patience, self._hang_up)

    def resume_writing(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
        super().resume_writing()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._asked = False
        self._await_head()
        self.scope["extensions"] = {_KEY: {"abort": self._hang_up}}

    def on_header(self, name: bytes, value: bytes) -> None:
        """What follows a body is no header: a proxy of ours has not looked at it."""
        if self._head is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._head_came()
        super().on_headers_complete()
        if len(self.pipeline) > MOST_WAITING:
            self._hang_up()

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._asked = True
        if self._rest is not None:
            self._rest.cancel()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # What is still coming may be the next request already.
        if not self._asked and self._head is None and self.cycle.response_complete:
            self._rest = self.loop.call_later(REST_SECONDS, self._hang_up)

    def _hang_up(self) -> None:
        """At once, with what is still to be read: closing would keep that until someone reads it,
        and so would the kernel."""
        if self._lost:
            return
        connection = cast("socket.socket | None", self.transport.get_extra_info("socket"))
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.transport.abort()

    def _await_head(self) -> None:
        if self._head is None:
            self._head_bytes = 0
            self._head = self.loop.call_later(HEAD_SECONDS, self._hang_up)

    def _head_came(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


async def abort(scope: Scope, gone: "asyncio.Future[Any]") -> None:
    """Hang up at once, and wait until uvicorn knows."""
    extensions = cast("dict[str, dict[str, Callable[[], None]]]", scope.get("extensions") or {})
    if _KEY in extensions:
        extensions[_KEY]["abort"]()
        await asyncio.wait([gone], timeout=_ABORT_SECONDS)
