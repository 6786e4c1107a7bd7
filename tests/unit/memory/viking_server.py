"""A stand-in for OpenViking's HTTP API: the shapes and rules of its version 0.5.2, in memory.

It learns what a conversation says in the words `REMEMBER topic: text.`, as the scripted model of
`real_viking` does for the real one.
"""

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol, Self

import msgspec
from aiohttp import web

Extraction = Literal["good", "failing", "stuck"]
Fault = Literal["none", "error", "garbage", "stall", "cut before", "cut after", "echo key"]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

KEY = "root-secret"
LEARN = re.compile(r"REMEMBER (\w+): ([^.]+\.)")


class VikingServer(Protocol):
    """What a test needs of either server."""

    extraction: Extraction

    @property
    def url(self) -> str: ...


class _Session(msgspec.Struct):
    live: list[dict[str, Any]] = []
    archive: list[dict[str, Any]] = []
    commits: int = 0
    total: int = 0
    kept: bool = False


class _Account(msgspec.Struct):
    """What one user has: sessions, files, and tasks in the order of their making."""

    sessions: dict[str, _Session] = {}
    files: dict[str, str] = {}
    tasks: list[dict[str, Any]] = []


class StandIn:
    """`faults` are met in turn, each by the next request whose method and path hold the text."""

    def __init__(self, *, user_of_key: str | None = None) -> None:
        self.extraction: Extraction = "good"
        self.faults: deque[tuple[str, Fault]] = deque()
        self.paths: list[str] = []
        self.released = asyncio.Event()
        self._user_of_key = user_of_key
        self._users: dict[str, _Account] = {}
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        assert self._runner is not None
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20, middlewares=[self._gate])
        app.add_routes(
            [
                web.get("/health", self._health),
                web.get("/ready", self._ready),
                web.post("/api/v1/sessions", self._create),
                web.get("/api/v1/sessions", self._sessions),
                web.get("/api/v1/sessions/{id}", self._session),
                web.delete("/api/v1/sessions/{id}", self._delete_session),
                web.post("/api/v1/sessions/{id}/messages/batch", self._add),
                web.post("/api/v1/sessions/{id}/commit", self._commit),
                web.get("/api/v1/sessions/{id}/archives/{archive}", self._archive),
                web.post("/api/v1/system/wait", self._wait),
                web.get("/api/v1/tasks", self._tasks),
                web.get("/api/v1/tasks/{id}", self._task),
                web.post("/api/v1/search/search", self._search),
                web.get("/api/v1/content/read", self._read),
                web.post("/api/v1/content/write", self._write),
                web.delete("/api/v1/fs", self._remove),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        self.released.set()
        await self._runner.cleanup()

    # Who asks, and what goes wrong.

    @web.middleware
    async def _gate(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.paths.append(f"{request.method} {request.path}")
        fault = self._fault(self.paths[-1])
        if fault == "error":
            return _error(500, "INTERNAL", "The disk is on fire.")
        if fault == "echo key":
            return _error(500, "INTERNAL", f"No such key: {request.headers['x-api-key']}")
        if fault == "garbage":
            return web.Response(text="<html>", content_type="application/json")
        if fault == "stall":
            await self.released.wait()
        if fault == "cut before":
            return _cut(request)
        if request.path != "/ready" and request.headers.get("x-api-key") != KEY:
            return _error(401, "UNAUTHENTICATED", "Invalid API Key in trusted mode.")
        response = await handler(request)
        return _cut(request) if fault == "cut after" else response

    def _fault(self, path: str) -> Fault | None:
        if self.faults and self.faults[0][0] in path:
            return self.faults.popleft()[1]
        return None

    def _user(self, request: web.Request) -> tuple[str, _Account]:
        """In trusted mode whoever the request names; otherwise the one whose key it is."""
        name = self._user_of_key or request.headers["x-openviking-user"]
        return name, self._users.setdefault(name, _Account())

    async def _health(self, request: web.Request) -> web.Response:
        said = {"status": "ok", "healthy": True, "version": "0.5.2", "auth_mode": "trusted"}
        return web.json_response(said)

    async def _ready(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ready", "checks": {"vectordb": "ok"}})

    async def _wait(self, request: web.Request) -> web.Response:
        return _ok({})

    # Sessions.

    async def _create(self, request: web.Request) -> web.Response:
        name, user = self._user(request)
        id = (await request.json())["session_id"]
        if id in user.sessions:
            return _error(409, "ALREADY_EXISTS", f"Session '{id}' already exists")
        user.sessions[id] = _Session()
        return _ok(self._described(name, id))

    def _described(self, name: str, id: str) -> dict[str, object]:
        return {
            "session_id": id,
            "uri": f"viking://user/{name}/sessions/{id}",
            "user": {"account_id": "default", "user_id": name},
        }

    async def _sessions(self, request: web.Request) -> web.Response:
        name, user = self._user(request)
        return _ok([self._described(name, id) | {"is_dir": True} for id in user.sessions])

    async def _session(self, request: web.Request) -> web.Response:
        name, user = self._user(request)
        id = request.match_info["id"]
        if (session := user.sessions.get(id)) is None:
            return _error(404, "NOT_FOUND", f"Session {id} not found")
        counts = {
            "message_count": len(session.live),
            "commit_count": session.commits,
            "total_message_count": session.total,
        }
        return _ok(self._described(name, id) | counts)

    async def _delete_session(self, request: web.Request) -> web.Response:
        name, user = self._user(request)
        id = request.match_info["id"]
        if user.sessions.pop(id, None) is None:
            return _error(404, "NOT_FOUND", f"Session not found: {id}")
        user.files.pop(_diff_uri(name, id), None)
        return _ok({"session_id": id})

    async def _add(self, request: web.Request) -> web.Response:
        _, user = self._user(request)
        messages = (await request.json())["messages"]
        if len(messages) > 100:
            return _error(400, "INVALID_ARGUMENT", "List should have at most 100 items")
        session = user.sessions.setdefault(request.match_info["id"], _Session())
        session.live += messages
        session.total += len(messages)
        return _ok({"message_count": len(session.live), "added": len(messages)})

    async def _commit(self, request: web.Request) -> web.Response:
        name, user = self._user(request)
        id = request.match_info["id"]
        if (session := user.sessions.get(id)) is None:
            return _error(404, "NOT_FOUND", f"Session not found: {id}")
        if not session.live:
            return _ok({"session_id": id, "status": "skipped", "task_id": None})
        session.archive, session.live = session.live, []
        session.commits += 1
        task = {"task_id": f"task-{len(user.tasks)}", "resource_id": id, "status": "running"}
        user.tasks.append(task)
        self._extract(name, user, id, task)
        return _ok({"session_id": id, "status": "accepted", "task_id": task["task_id"]})

    async def _archive(self, request: web.Request) -> web.Response:
        _, user = self._user(request)
        session = user.sessions.get(request.match_info["id"])
        if session is None or not session.kept:
            return _error(404, "NOT_FOUND", "Archive archive_001 not found")
        return _ok({"archive_id": "archive_001", "messages": session.archive})

    # What it learns.

    def finish(self) -> None:
        """Let what is stuck go on."""
        self.extraction = "good"
        for name, user in self._users.items():
            for task in user.tasks:
                if task["status"] == "running":
                    self._extract(name, user, task["resource_id"], task)

    def _extract(self, name: str, user: _Account, id: str, task: dict[str, Any]) -> None:
        if self.extraction == "stuck":
            return
        if self.extraction == "failing":
            task |= {"status": "failed", "error": "Final response could not be parsed"}
            return
        adds: list[dict[str, str]] = []
        updates: list[dict[str, str]] = []
        for topic, text in LEARN.findall(_words_of(user.sessions[id].archive)):
            uri = f"viking://user/{name}/memories/preferences/u/{topic}.md"
            change = {"uri": uri, "after": f"- {text}"}
            if uri in user.files:
                updates.append(change | {"before": user.files[uri]})
            else:
                adds.append(change)
            user.files[uri] = f"- {text}"
        diff = {"operations": {"adds": adds, "updates": updates, "deletes": []}}
        user.files[_diff_uri(name, id)] = msgspec.json.encode(diff).decode()
        user.sessions[id].kept = True
        task["status"] = "completed"

    async def _tasks(self, request: web.Request) -> web.Response:
        _, user = self._user(request)
        asked = request.query["resource_id"]
        found = [task for task in reversed(user.tasks) if task["resource_id"] == asked]
        return _ok(found[: int(request.query["limit"])])

    async def _task(self, request: web.Request) -> web.Response:
        _, user = self._user(request)
        for task in user.tasks:
            if task["task_id"] == request.match_info["id"]:
                return _ok(task)
        return _error(404, "NOT_FOUND", "Task not found or expired")

    async def _search(self, request: web.Request) -> web.Response:
        name, user = self._user(request)
        asked = await request.json()
        words = set(re.findall(r"\w+", asked["query"].lower()))
        entries: list[dict[str, object]] = [
            {
                "uri": f"viking://user/{name}/memories/preferences/u",
                "score": 0.01,
                "detail": "overview",
                "text": "# Preferences Overview",
            }
        ]
        for uri, text in user.files.items():
            score = len(words & set(re.findall(r"\w+", text.lower())))
            if "/memories/" in uri and score:
                shown = {"score": score / len(words), "detail": "abstract", "text": text}
                entries.append({"uri": uri, "category": "preferences", "origin": "self", **shown})
        entries.sort(key=lambda entry: -float(str(entry["score"])))
        return _ok({"entries": entries[: asked["limit"]], "rendered": "", "stats": {}})

    # Files.

    async def _read(self, request: web.Request) -> web.Response:
        _, user = self._user(request)
        uri = request.query["uri"]
        if uri not in user.files:
            return _error(404, "NOT_FOUND", f"File not found: {uri}")
        return _ok(user.files[uri])

    async def _write(self, request: web.Request) -> web.Response:
        _, user = self._user(request)
        asked = await request.json()
        user.files[asked["uri"]] = asked["content"]
        return _ok({"uri": asked["uri"], "mode": asked["mode"]})

    async def _remove(self, request: web.Request) -> web.Response:
        _, user = self._user(request)
        removed = user.files.pop(request.query["uri"], None)
        return _ok({"uri": request.query["uri"], "estimated_deleted_count": int(bool(removed))})


def _words_of(messages: list[dict[str, Any]]) -> str:
    return "\n".join(part.get("text", "") for each in messages for part in each["parts"])


def _diff_uri(name: str, id: str) -> str:
    return f"viking://user/{name}/sessions/{id}/history/archive_001/memory_diff.json"


def _ok(result: object) -> web.Response:
    return web.json_response({"status": "ok", "result": result, "error": None, "telemetry": None})


def _error(status: int, code: str, message: str) -> web.Response:
    error = {"code": code, "message": message}
    return web.json_response({"status": "error", "result": None, "error": error}, status=status)


def _cut(request: web.Request) -> web.Response:
    """The connection ends without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
