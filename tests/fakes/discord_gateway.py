"""The gateway of the fake Discord: sessions of bots, over sockets that may be lost."""

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web

if TYPE_CHECKING:
    from tests.fakes.discord import FakeDiscord

Json = dict[str, Any]

DISPATCH, HEARTBEAT, IDENTIFY, RESUME = 0, 1, 2, 6
RECONNECT, INVALID, HELLO, ACK = 7, 9, 10, 11
MESSAGE_CONTENT = 1 << 15


class Session:
    """What a bot was sent, numbered, so that it can go on after a lost socket."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.sent: list[Json] = []
        self.socket: web.WebSocketResponse | None = None

    async def send(self, event: str, data: Json) -> None:
        self.sent.append({"op": DISPATCH, "t": event, "s": len(self.sent) + 1, "d": data})
        if self.socket is not None:
            await _send(self.socket, self.sent[-1])


class Gateway:
    """`identified`, `resumed` and `beats` count what bots did."""

    def __init__(self, discord: "FakeDiscord") -> None:
        self._discord = discord
        self.sessions: dict[str, Session] = {}
        self.identified = 0
        self.resumed = 0
        self.beats = 0
        self._lines: dict[web.WebSocketResponse, asyncio.Transport] = {}
        self.open = True
        """Whether sockets are taken at all."""
        self.loses = False
        """Whether what happens is kept from everyone, also from sessions that are resumed."""

    async def dispatch(self, event: str, data: Json) -> None:
        for session in () if self.loses else tuple(self.sessions.values()):
            await session.send(event, data)

    async def drop(self, *, forget: bool = False) -> None:
        """Lose every socket, and with `forget` the sessions, so that nobody can resume."""
        for session in tuple(self.sessions.values()):
            socket, session.socket = session.socket, None
            if socket is not None:
                self._lines[socket].abort()
        if forget:
            self.sessions.clear()
        await self._discord.tell()

    def hang(self) -> None:
        """Take no more notice of what bots say, nor of their going."""
        for line in self._lines.values():
            line.pause_reading()

    async def ask_to_reconnect(self) -> None:
        for session in self.sessions.values():
            if session.socket is not None:
                await _send(session.socket, {"op": RECONNECT, "d": None})

    @property
    def connected(self) -> bool:
        return any(session.socket is not None for session in self.sessions.values())

    async def connect(self, request: web.Request) -> web.StreamResponse:
        if not self.open:
            raise web.HTTPServiceUnavailable
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        assert isinstance(request.transport, asyncio.Transport)
        self._lines[socket] = request.transport
        await _send(socket, {"op": HELLO, "d": {"heartbeat_interval": 41_250}})
        try:
            async for frame in socket:
                if frame.type is WSMsgType.TEXT:
                    await self._received(socket, json.loads(frame.data))
        finally:
            del self._lines[socket]
            for session in self.sessions.values():
                if session.socket is socket:
                    session.socket = None
            await self._discord.tell()
        return socket

    async def _received(self, socket: web.WebSocketResponse, frame: Json) -> None:
        if frame["op"] == HEARTBEAT:
            self.beats += 1
            await _send(socket, {"op": ACK})
        elif frame["op"] == IDENTIFY:
            await self._identify(socket, frame["d"])
        elif frame["op"] == RESUME:
            await self._resume(socket, frame["d"])
        await self._discord.tell()

    async def _identify(self, socket: web.WebSocketResponse, data: Json) -> None:
        discord = self._discord
        if data["token"] != discord.token:
            await socket.close(code=4004, message=b"Authentication failed.")
            return
        if data["intents"] & MESSAGE_CONTENT and not discord.all_messages:
            await socket.close(code=4014, message=b"Disallowed intent(s).")
            return
        self.identified += 1
        session = Session(f"session-{self.identified}")
        self.sessions[session.id] = session
        session.socket = socket
        await session.send("READY", self._ready(session))
        for guild in discord.guilds:
            await session.send("GUILD_CREATE", discord.whole_guild(guild))

    def _ready(self, session: Session) -> Json:
        discord = self._discord
        return {
            "v": 10,
            "user": discord.me,
            "guilds": [{"id": guild, "unavailable": True} for guild in discord.guilds],
            "session_id": session.id,
            "resume_gateway_url": discord.url.replace("http", "ws") + "/gateway",
            "application": {"id": discord.me["id"], "flags": 0},
        }

    async def _resume(self, socket: web.WebSocketResponse, data: Json) -> None:
        session = self.sessions.get(data["session_id"])
        if session is None or data["token"] != self._discord.token:
            await _send(socket, {"op": INVALID, "d": False})
            return
        for missed in session.sent[data["seq"] :]:
            await _send(socket, missed)
        session.socket = socket
        self.resumed += 1
        await session.send("RESUMED", {})


async def _send(socket: web.WebSocketResponse, frame: Json) -> None:
    # A bot that is going away finds out what it missed when it is back.
    with suppress(ConnectionError):
        if not socket.closed:
            await socket.send_str(json.dumps(frame))
