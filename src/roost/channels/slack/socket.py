"""Slack's socket mode: a connection that Roost opens, so that Slack need not reach it."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import cast

from aiohttp import WSMessage
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.socket_mode.aiohttp import SocketModeClient

from roost.channels.slack.calls import QUIET, SlackCalls
from roost.core.errors import ChannelLost

_CONNECT_SECONDS = 15.0
_CLOSE_SECONDS = 2.0
_LOOK_SECONDS = 1.0
"""The library tells of a connection that was closed, not of one that broke."""


class SlackSocket:
    """One connection, and those that follow it when Slack asks to change. It is not made again by
    itself when it breaks: that is up to whoever runs channels, with growing delays."""

    def __init__(self, name: str, client: SocketModeClient) -> None:
        self._name = name
        self._client = client
        self._closed = asyncio.Event()
        client.default_auto_reconnect_enabled = False
        client.auto_reconnect_enabled = False
        client.on_close_listeners.append(self._on_close)

    async def connect(self, address: str) -> None:
        """The library would try for ever, and to an address that holds for half a minute."""
        self._client.wss_uri = address
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                await self._client.connect()
        except TimeoutError:
            raise ChannelLost(self._name, "its socket can't be opened") from None

    async def until_lost(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), _LOOK_SECONDS)
            self._closed.clear()
            if not await self._client.is_connected() and not await self._is_changing():
                raise ChannelLost(self._name, "the socket was closed")

    async def _is_changing(self) -> bool:
        """Whether the library was replacing the connection, and has done so."""
        lock = self._client.connect_operation_lock
        if not lock.locked():
            return False
        try:
            async with asyncio.timeout(_CONNECT_SECONDS), lock:
                return await self._client.is_connected()
        except TimeoutError:
            return False

    async def _on_close(self, _: WSMessage) -> None:
        self._closed.set()


@contextlib.asynccontextmanager
async def listening(
    name: str, app: AsyncApp, calls: SlackCalls, app_token: str
) -> AsyncGenerator[SlackSocket]:
    address = await calls.socket(app_token)
    handler = AsyncSocketModeHandler(app, app_token, logger=QUIET, web_client=calls.client)
    try:
        socket = SlackSocket(name, handler.client)
        await socket.connect(address)
        yield socket
    finally:
        await _close(handler.client)


async def _close(client: SocketModeClient) -> None:
    """Politely, if the other side still listens; in any case."""
    # The library does not say what they are tasks of.
    tasks = cast(
        "list[asyncio.Future[None] | None]",
        [
            client.message_processor,  # pyright: ignore[reportUnknownMemberType]
            client.current_session_monitor,  # pyright: ignore[reportUnknownMemberType]
            client.message_receiver,  # pyright: ignore[reportUnknownMemberType]
        ],
    )
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await client.close()
    finally:
        running = [task for task in tasks if task is not None]
        for task in running:
            task.cancel()
        await client.aiohttp_client_session.close()
        await asyncio.wait(running)
