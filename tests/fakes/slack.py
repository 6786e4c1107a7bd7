"""Slack on loopback: its Web API, its sockets and its signed requests, over real HTTP. It keeps
what was posted, delivers again what nobody acknowledged, and does to calls whatever a test has put
in their way."""

import asyncio
import hashlib
import hmac
import itertools
import json
import time
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal, cast
from urllib.parse import urlencode

import aiohttp
import msgspec
from aiohttp import web

TOKEN, APP_TOKEN, SECRET = "xoxb-fake", "xapp-fake", "a-signing-secret"
TEAM, BOT, BOT_ID = "T1", "UBOT", "BBOT"
DEADLINE = 60

Json = dict[str, Any]


class Trouble(msgspec.Struct, frozen=True):
    """What a call meets. `lost`: it is done, and the connection breaks before the answer. `held`:
    it is done, and the answer waits for `FakeSlack.release`."""

    kind: Literal["status", "error", "lost", "held"]
    status: int = 200
    error: str = ""
    retry_after: int | None = None


class Post(msgspec.Struct, kw_only=True):
    channel: str
    ts: str
    text: str
    thread_ts: str | None = None
    user: str = BOT
    blocks: list[Json] = []
    metadata: Json | None = None
    edits: int = 0


class Upload(msgspec.Struct, kw_only=True):
    name: str
    data: bytes = b""
    channel: str | None = None
    thread_ts: str | None = None


class FakeSlack:
    def __init__(self) -> None:
        self.posts: list[Post] = []
        self.uploads: dict[str, Upload] = {}
        self.files: dict[str, tuple[Json, bytes]] = {}
        self.users: dict[str, str] = {}
        self.statuses: list[Json] = []
        self.calls: list[str] = []
        self.trouble: defaultdict[str, deque[Trouble]] = defaultdict(deque)
        """What the next calls of a method meet."""
        self.limited: set[str] = set()
        """Conversations of which nothing can be read for now."""
        self.release = asyncio.Event()
        self.sockets: list[web.WebSocketResponse] = []
        self.connections = 0
        self.open: dict[str, Json] = {}
        """Envelopes that were not acknowledged."""
        self.acknowledged: list[str] = []
        self.changed = asyncio.Condition()
        self.address = ""
        self.signed_for = TOKEN
        self.page = 2
        """Messages on a page, few, to see that pages are read."""
        self._numbers = itertools.count(1)
        self._lines: list[asyncio.Transport] = []

    @property
    def api(self) -> str:
        return f"{self.address}/api/"

    # What people do there.

    async def say(
        self,
        text: str,
        *,
        user: str = "U1",
        channel: str = "D1",
        heard: bool = True,
        **more: object,
    ) -> str:
        """Someone writes; the event goes out, unless Slack gave up on it. Returns its ts."""
        ts = self.new_ts()
        thread = more.get("thread_ts")
        kept = Post(channel=channel, ts=ts, text=text, user=user, thread_ts=cast("str", thread))
        self.posts.append(kept)
        said: Json = {"user": user, "text": text, "ts": ts, **more}
        if heard:
            await self.event({"type": "message", "channel": channel, **said})
        return ts

    async def event(self, event: Json) -> str:
        return await self.send("events_api", self.callback(event))

    def callback(self, event: Json) -> Json:
        number = next(self._numbers)
        called = {"type": "event_callback", "team_id": TEAM, "event_id": f"Ev{number}"}
        return {**called, "event": event}

    async def press(self, post: Post, number: int = 0, *, user: str = "U1") -> str:
        (actions,) = [block for block in post.blocks if block["type"] == "actions"]
        return await self.send("interactive", self.pressed(post, actions["elements"][number], user))

    def pressed(self, post: Post, button: Json, user: str) -> Json:
        container = {"type": "message", "message_ts": post.ts, "channel_id": post.channel}
        if post.thread_ts:
            container["thread_ts"] = post.thread_ts
        action = {**button, "action_ts": self.new_ts(), "block_id": "b"}
        return {
            "type": "block_actions",
            "user": {"id": user, "username": self.users.get(user, user), "team_id": TEAM},
            "team": {"id": TEAM, "domain": "fake"},
            "container": container,
            "channel": {"id": post.channel},
            "trigger_id": f"{next(self._numbers)}.t",
            "actions": [action],
        }

    def command(self, command: str, text: str = "", *, channel: str = "D1") -> Json:
        return {
            "command": command,
            "text": text,
            "user_id": "U1",
            "user_name": "ann",
            "channel_id": channel,
            "channel_name": "directmessage" if channel.startswith("D") else "general",
            "team_id": TEAM,
            "trigger_id": f"{next(self._numbers)}.t",
        }

    # Sockets.

    async def send(self, kind: str, payload: Json) -> str:
        """In an envelope that waits until it is acknowledged."""
        envelope = f"e{next(self._numbers)}"
        self.open[envelope] = {
            "envelope_id": envelope,
            "type": kind,
            "accepts_response_payload": kind != "events_api",
            "retry_attempt": 0,
            "payload": payload,
        }
        for socket in self.sockets[-1:]:
            with suppress(ConnectionError):  # it comes with the next connection
                await socket.send_json(self.open[envelope])
        return envelope

    async def drop(self) -> None:
        """Break the connection without a word."""
        for line in self._lines:
            line.abort()
        self.sockets.clear()
        self._lines.clear()

    async def ask_to_change(self) -> None:
        """As Slack does every few hours."""
        await self.sockets[-1].send_json({"type": "disconnect", "reason": "refresh_requested"})

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"type": "hello", "num_connections": 1, "debug_info": {}})
        self._lines.append(_line(request))
        async with self.changed:
            self.sockets.append(socket)
            self.connections += 1
            self.changed.notify_all()
        with suppress(ConnectionError):
            await self._converse(socket)
        if socket in self.sockets:
            self.sockets.remove(socket)
        return socket

    async def _converse(self, socket: web.WebSocketResponse) -> None:
        for envelope in [*self.open.values()]:
            envelope["retry_attempt"] += 1
            await socket.send_json(envelope)
        async for message in socket:
            answer = cast("Json", json.loads(cast("str", message.data)))
            await self._acknowledge(answer["envelope_id"])

    async def _acknowledge(self, envelope: str) -> None:
        async with self.changed:
            self.open.pop(envelope, None)
            self.acknowledged.append(envelope)
            self.changed.notify_all()

    # Signed requests.

    async def call_hook(self, url: str, payload: Json, *, tries: int = 4) -> list[int]:
        """An event, sent until it is taken; the statuses that came back."""
        statuses: list[int] = []
        async with aiohttp.ClientSession() as session:
            for number in range(tries):
                retried = {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": "http_error"}
                body = json.dumps(payload).encode()
                headers = {"Content-Type": "application/json", **(retried if number else {})}
                async with session.post(
                    url, data=body, headers={**headers, **signed(body)}
                ) as answer:
                    statuses.append(answer.status)
                    if answer.status == 200:
                        break
        return statuses

    @staticmethod
    def form(payload: Mapping[str, object]) -> bytes:
        """A slash command, or a press in its `payload`, as Slack posts it."""
        return urlencode({key: str(value) for key, value in payload.items()}).encode()

    # The Web API.

    async def _api(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        self.calls.append(method)
        trouble = self.trouble[method].popleft() if self.trouble[method] else None
        if trouble and trouble.kind in ("status", "error"):
            return _troubled(trouble)
        token = APP_TOKEN if method == "apps.connections.open" else self.signed_for
        if request.headers.get("Authorization") != f"Bearer {token}":
            return web.json_response({"ok": False, "error": "invalid_auth"})
        arguments = await _arguments(request)
        if method == "conversations.history" and arguments["channel"] in self.limited:
            return _troubled(Trouble("status", 429, retry_after=1))
        async with self.changed:
            answer = self._methods()[method](arguments)
            self.changed.notify_all()
        if trouble and trouble.kind == "held":
            await self.release.wait()
        elif trouble:
            _line(request).abort()
        return web.json_response({"ok": True, **answer} if "error" not in answer else answer)

    def _methods(self) -> Mapping[str, Callable[[Json], Json]]:
        return {
            "auth.test": lambda _: {
                "team_id": TEAM,
                "user_id": BOT,
                "user": "roost",
                "bot_id": BOT_ID,
            },
            "apps.connections.open": lambda _: {
                "url": self.address.replace("http", "ws", 1) + "/socket"
            },
            "chat.postMessage": self._post,
            "chat.update": self._update,
            "conversations.history": self._history,
            "conversations.replies": self._replies,
            "users.conversations": self._conversations,
            "users.info": lambda given: {
                "user": {
                    "name": given["user"],
                    "profile": {"display_name": self.users.get(given["user"], "")},
                }
            },
            "files.getUploadURLExternal": self._upload_url,
            "files.completeUploadExternal": self._upload_done,
            "files.info": lambda given: {"file": self.files[given["file"]][0]},
            "assistant.threads.setStatus": self._status,
        }

    def _post(self, given: Json) -> Json:
        if given["channel"] == "CGONE":
            return {"ok": False, "error": "channel_not_found"}
        post = Post(
            channel=given["channel"],
            ts=self.new_ts(),
            text=given["text"],
            thread_ts=given.get("thread_ts"),
            blocks=given.get("blocks", []),
            metadata=given.get("metadata"),
        )
        self.posts.append(post)
        return {"channel": post.channel, "ts": post.ts}

    def _update(self, given: Json) -> Json:
        found = [post for post in self.posts if post.ts == given["ts"]]
        if not found:
            return {"ok": False, "error": "message_not_found"}
        found[0].text = given["text"]
        found[0].blocks = given.get("blocks", found[0].blocks)
        found[0].edits += 1
        return {"ts": given["ts"]}

    def _history(self, given: Json) -> Json:
        """The newest first, and of threads only where they began."""
        found = [
            post
            for post in reversed(self.posts)
            if post.channel == given["channel"] and post.thread_ts in (None, post.ts)
        ]
        return self._page([post for post in found if _is_since(post, given)], given)

    def _replies(self, given: Json) -> Json:
        """The oldest first; the first of the thread in any case."""
        found = [post for post in self.posts if given["ts"] in (post.ts, post.thread_ts)]
        return self._page(
            [post for post in found if post.ts == given["ts"] or _is_since(post, given)], given
        )

    def _page(self, found: list[Post], given: Json) -> Json:
        start = int(given.get("cursor") or 0)
        end = start + self.page
        more = str(end) if len(found) > end else ""
        messages = [self._message(post) for post in found[start:end]]
        return {"messages": messages, "response_metadata": {"next_cursor": more}}

    def _message(self, post: Post) -> Json:
        message = {"type": "message", "ts": post.ts, "text": post.text, "user": post.user}
        replies = [each.ts for each in self.posts if each.thread_ts == post.ts]
        optional = {
            "metadata": post.metadata,
            "thread_ts": post.thread_ts or (post.ts if replies else None),
            "latest_reply": max(replies, default=None),
            "bot_id": BOT_ID if post.user == BOT else None,
        }
        return message | {key: value for key, value in optional.items() if value is not None}

    def _conversations(self, given: Json) -> Json:
        direct = given["types"] == "im"
        if not direct and given["types"] != "public_channel":
            return {"ok": False, "error": "missing_scope"}
        found = {post.channel for post in self.posts if post.channel.startswith("D") == direct}
        return {"channels": [{"id": channel} for channel in sorted(found)]}

    def _upload_url(self, given: Json) -> Json:
        name = f"F{next(self._numbers)}"
        self.uploads[name] = Upload(name=given["filename"])
        return {"upload_url": f"{self.address}/upload/{name}", "file_id": name}

    def _upload_done(self, given: Json) -> Json:
        (file,) = cast("list[Json]", json.loads(given["files"]))
        upload = self.uploads[file["id"]]
        upload.channel, upload.thread_ts = given.get("channel_id"), given.get("thread_ts")
        return {"files": [{"id": file["id"], "title": file["title"]}]}

    def _status(self, given: Json) -> Json:
        self.statuses.append(given)
        return {}

    async def _upload(self, request: web.Request) -> web.Response:
        self.uploads[request.match_info["file"]].data = await request.read()
        return web.Response(text="OK")

    async def _file(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {self.signed_for}":
            return web.Response(text="<html>Sign in", content_type="text/html")
        _, data = self.files[request.match_info["file"]]
        return web.Response(body=data, content_type="application/octet-stream")

    # For tests.

    def new_ts(self) -> str:
        return f"{int(time.time())}.{next(self._numbers):06d}"

    def sent(self) -> list[Post]:
        return [post for post in self.posts if post.user == BOT]

    def keep_file(self, name: str, data: bytes, media_type: str) -> Json:
        """A file that can be named in a message."""
        file: Json = {"id": name, "name": f"{name}.bin", "mimetype": media_type, "size": len(data)}
        file["url_private_download"] = f"{self.address}/files/{name}"
        self.files[name] = (file, data)
        return file

    async def until(self, holds: Callable[[], object], *, within: float = DEADLINE) -> None:
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(holds), within)

    def application(self) -> web.Application:
        application = web.Application(client_max_size=64 << 20)
        application.router.add_route("*", "/api/{method}", self._api)
        application.router.add_get("/socket", self._socket)
        application.router.add_post("/upload/{file}", self._upload)
        application.router.add_get("/files/{file}", self._file)
        return application


def signed(body: bytes, *, secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    when = str(int(time.time() if at is None else at))
    made = hmac.new(secret.encode(), f"v0:{when}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": when, "X-Slack-Signature": f"v0={made}"}


def _is_since(post: Post, given: Json) -> bool:
    return float(post.ts) > float(given.get("oldest", 0))


def _line(request: web.Request) -> asyncio.Transport:
    assert isinstance(request.transport, asyncio.Transport)
    return request.transport


def _troubled(trouble: Trouble) -> web.Response:
    if trouble.kind == "error":
        return web.json_response({"ok": False, "error": trouble.error})
    headers = {} if trouble.retry_after is None else {"Retry-After": str(trouble.retry_after)}
    if trouble.status == 429:
        return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)
    return web.Response(text="<html>Trouble", content_type="text/html", status=trouble.status)


async def _arguments(request: web.Request) -> Json:
    if request.content_type == "application/json":
        return cast("Json", await request.json())
    return {**request.query, **{key: str(value) for key, value in (await request.post()).items()}}


@asynccontextmanager
async def fake_slack() -> AsyncGenerator[FakeSlack]:
    slack = FakeSlack()
    runner = web.AppRunner(slack.application(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = cast("tuple[str, int]", runner.addresses[0])
    slack.address = f"http://{host}:{port}"
    try:
        yield slack
    finally:
        for socket in [*slack.sockets]:
            await socket.close()
        await runner.cleanup()
