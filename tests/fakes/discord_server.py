"""The fake Discord over HTTP, on loopback, and how discord.py is led there."""

import json
import time
from collections import deque
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import discord.gateway
import discord.http
import yarl
from aiohttp import web
from aiohttp.typedefs import Handler

from tests.fakes.discord import ME, FakeDiscord, Trouble

Json = dict[str, Any]

API = "/api/v10"
LONGEST = 2000
PAGE = 100


@asynccontextmanager
async def served() -> AsyncGenerator[FakeDiscord]:
    fake = FakeDiscord()
    runner = web.AppRunner(_Server(fake).app(), handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    fake.url = f"http://{host}:{port}"
    try:
        yield fake
    finally:
        await fake.gateway.drop()
        await runner.cleanup()


@contextmanager
def led_to(url: str) -> Generator[None]:
    """Every client of discord.py in this process talks to that server meanwhile."""
    route, gateway = discord.http.Route, discord.gateway.DiscordWebSocket
    before = route.BASE, gateway.DEFAULT_GATEWAY
    route.BASE = url + API
    gateway.DEFAULT_GATEWAY = yarl.URL(url.replace("http", "ws") + "/gateway")
    try:
        yield
    finally:
        route.BASE, gateway.DEFAULT_GATEWAY = before


class _Server:
    def __init__(self, fake: FakeDiscord) -> None:
        self.fake = fake

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._meet_trouble], client_max_size=64 << 20)
        chat, message = API + "/channels/{channel}", API + "/channels/{channel}/messages/{message}"
        app.add_routes(
            [
                web.get("/gateway", self.fake.gateway.connect),
                web.get(API + "/gateway/bot", self._gateway),
                web.get(API + "/users/@me", self._me),
                web.get(API + "/oauth2/applications/@me", self._application),
                web.put(API + "/applications/{application}/commands", self._commands),
                web.post(API + "/interactions/{id}/{token}/callback", self._callback),
                web.get(chat, self._channel),
                web.get(chat + "/messages", self._history),
                web.post(chat + "/messages", self._post),
                web.post(chat + "/typing", self._typing),
                web.get(message, self._message),
                web.patch(message, self._edit),
                web.get("/attachments/{rest:.*}", self._attachment),
            ]
        )
        return app

    @web.middleware
    async def _meet_trouble(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path == "/gateway":
            return await handler(request)
        self.fake.calls.append(f"{request.method} {request.path.removeprefix(API)}")
        trouble = self._trouble(request)
        if trouble is not None and not trouble.done:
            return await self._troubled(request, trouble)
        answer = await self._allowed(request, handler)
        await self.fake.tell()
        return answer if trouble is None else await self._troubled(request, trouble)

    def _trouble(self, request: web.Request) -> Trouble | None:
        waiting = self.fake.trouble
        return waiting.popleft() if waiting and waiting[0].path in request.path else None

    async def _troubled(self, request: web.Request, trouble: Trouble) -> web.StreamResponse:
        if trouble.cut:
            assert request.transport is not None
            request.transport.abort()
        if trouble.status == 429:
            return _too_many(trouble.retry_after)
        return _json({"message": "no", "code": 0}, status=trouble.status)

    async def _allowed(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        free = "/callback" in request.path or request.path.startswith("/attachments/")
        if not free and request.headers.get("Authorization") != f"Bot {self.fake.token}":
            return _json({"message": "401: Unauthorized", "code": 0}, status=401)
        channel = request.match_info.get("channel")
        if channel is not None and channel not in self.fake.channels:
            return _refused(404, 10003, "Unknown Channel")
        message = request.match_info.get("message")
        if message is not None and not self.fake.has(message):
            return _refused(404, 10008, "Unknown Message")
        if channel is not None and self.fake.channels[channel].get("forbidden"):
            return _refused(403, 50001, "Missing Access")
        return await handler(request)

    async def _gateway(self, _request: web.Request) -> web.Response:
        limit = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
        url = self.fake.url.replace("http", "ws") + "/gateway"
        return _json({"url": url, "shards": 1, "session_start_limit": limit})

    async def _me(self, _request: web.Request) -> web.Response:
        return _json(self.fake.me)

    async def _application(self, _request: web.Request) -> web.Response:
        owner = {**self.fake.me, "id": "1"}
        about: Json = {"id": ME, "name": "roost", "description": "", "icon": None, "owner": owner}
        rights: Json = {"bot_public": False, "bot_require_code_grant": False, "verify_key": "0"}
        return _json({**about, **rights, "flags": 0})

    async def _commands(self, request: web.Request) -> web.Response:
        self.fake.commands = await request.json()
        return _json([])

    async def _callback(self, request: web.Request) -> web.Response:
        number = request.match_info["id"]
        self.fake.interactions[number] = await request.json()
        body = {"interaction": {"id": number, "type": 2}}
        return _json(body)

    async def _channel(self, request: web.Request) -> web.Response:
        return _json(self.fake.channels[request.match_info["channel"]])

    async def _history(self, request: web.Request) -> web.Response:
        after = int(request.query.get("after", 0))
        page = min(int(request.query.get("limit", 50)), PAGE)
        said = self.fake.messages[request.match_info["channel"]]
        later = [self.fake.shown(each) for each in said if int(each["id"]) > after][:page]
        return _json([_without_guild(each) for each in reversed(later)])

    async def _message(self, request: web.Request) -> web.Response:
        return _json(_without_guild(self.fake.find(request.match_info["message"])))

    async def _typing(self, request: web.Request) -> web.Response:
        self.fake.typed.append(request.match_info["channel"])
        return web.Response(status=204)

    async def _attachment(self, request: web.Request) -> web.Response:
        return web.Response(body=self.fake.files[request.path])

    async def _post(self, request: web.Request) -> web.Response:
        fake, channel = self.fake, request.match_info["channel"]
        wait = self._full(channel)
        if wait:
            return _too_many(wait)
        body, files = await _body(request)
        if len(body.get("content") or "") > LONGEST:
            return _refused(400, 50035, "Invalid Form Body")
        known = fake.nonces.get((channel, body.get("nonce", "")))
        if known is None or not body.get("enforce_nonce"):
            known = await self._posted(channel, body, files)
        return _json(_without_guild(fake.find(known)), headers=self._headers(channel))

    async def _posted(self, channel: str, body: Json, files: Json) -> str:
        message = self.fake.message(ME, channel, body.get("content") or "")
        message["components"] = body.get("components") or []
        message["asked"] = body
        message["attachments"] = [
            {"id": str(number), "filename": name, "size": len(data), "url": "", "proxy_url": ""}
            for number, (name, data) in enumerate(files.items())
        ]
        self.fake.files |= {f"sent:{name}": data for name, data in files.items()}
        self.fake.nonces[channel, body["nonce"]] = message["id"]
        await self.fake.keep(message)
        return message["id"]

    async def _edit(self, request: web.Request) -> web.Response:
        body = await request.json()
        message = self.fake.find(request.match_info["message"])
        message["components"] = body.get("components", message["components"])
        await self.fake.change(message["id"], body["content"])
        return _json(_without_guild(message))

    def _full(self, channel: str) -> float:
        """How long a chat takes nothing more; counts this message if it does."""
        if self.fake.rate is None:
            return 0
        count, seconds = self.fake.rate
        posts = self.fake.posts.setdefault(channel, deque())
        now = time.monotonic()
        while posts and posts[0] <= now - seconds:
            posts.popleft()
        if len(posts) >= count:
            return posts[0] + seconds - now
        posts.append(now)
        return 0

    def _headers(self, channel: str) -> dict[str, str]:
        if self.fake.rate is None:
            return {}
        count, seconds = self.fake.rate
        posts = self.fake.posts[channel]
        return {
            "X-RateLimit-Bucket": "posts",
            "X-RateLimit-Limit": str(count),
            "X-RateLimit-Remaining": str(count - len(posts)),
            "X-RateLimit-Reset-After": f"{posts[0] + seconds - time.monotonic():.3f}",
        }


async def _body(request: web.Request) -> tuple[Json, Json]:
    """What is asked for, and the files that came with it, by name."""
    if not request.content_type.startswith("multipart/"):
        return await request.json(), {}
    form = await request.post()
    files = [field for field in form.values() if isinstance(field, web.FileField)]
    return json.loads(str(form["payload_json"])), {
        each.filename: each.file.read() for each in files
    }


def _json(
    data: object, *, status: int = 200, headers: dict[str, str] | None = None
) -> web.Response:
    """Without a charset: discord.py would not take it as JSON."""
    body = json.dumps(data).encode()
    return web.Response(body=body, content_type="application/json", status=status, headers=headers)


def _too_many(seconds: float) -> web.Response:
    body = {"message": "You are being rate limited.", "retry_after": seconds, "global": False}
    headers = {"Retry-After": f"{seconds:.3f}", "Via": "1.1 fake"}
    return _json(body, status=429, headers=headers)


def _refused(status: int, code: int, why: str) -> web.Response:
    return _json({"message": why, "code": code}, status=status)


def _without_guild(message: Json) -> Json:
    """Over HTTP, messages do not say which guild they are of."""
    return {key: value for key, value in message.items() if key != "guild_id"}
