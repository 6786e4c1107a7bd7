"""A whole Roost, served from a thread of its own: the owner has something of everything, Bob wants
it, and whoever attacks speaks HTTP by hand."""

import asyncio
import http.client
import socket
import threading
from collections.abc import AsyncIterator, Collection, Coroutine, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from roost.core.config import (
    Config,
    MemoryConfig,
    ModelsConfig,
    ProviderConfig,
    ServerConfig,
    WorkspacesConfig,
)
from roost.core.ids import SessionId, UserId, new_schedule_id
from roost.core.keys import Key
from roost.core.schedules import NewSchedule, When
from roost.core.settings import BaseUrl
from roost.core.turns import Turn, TurnState
from roost.core.users import UserRole
from roost.http.server import bind, serve
from roost.runtime.account import Account
from roost.testing.models import ModelRequest, ModelServer, Reply, call, say, stall
from roost.wiring import Roost, running
from tests.engine import ASKS, FunctionTool, eventually

T = TypeVar("T")

SECONDS = 60
SECRET = "a-canary-that-nobody-else-may-see"  # noqa: S105
"""In everything that the owner has."""
STALL, ASK = f"Take your time with {SECRET}", f"Be careful with {SECRET}"
"""What makes the model think for ever, or call a tool that asks first."""


class Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        self._loop.close()


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401
        return msgspec.json.decode(self.body)

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class Person(NamedTuple):
    """`token` may do all that they may, `talker` talk, `reader` read; `cookie` is a browser's."""

    id: UserId
    token: str
    talker: str
    reader: str
    cookie: str


class House:
    port: int
    roost: Roost
    models: ModelServer
    owner: Person
    bob: Person
    ids: dict[str, str]
    """Of the owner's things, by the names that paths have for them."""

    def __init__(self, folder: Path, *, server: ServerConfig | None = None) -> None:
        self._folder = folder
        self._server = server or ServerConfig()
        self._loop = Loop()
        self._stack = AsyncExitStack()
        self._stop = asyncio.Event()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self.run(self._close())
        self._loop.close()

    # Moving in.

    async def open(self) -> None:
        enter = self._stack.enter_async_context
        self.models = await enter(ModelServer())
        self.models.otherwise(_answer)
        careful = FunctionTool("careful", _act, asks=ASKS)
        self.roost = await enter(
            running(self._config(), {"test": Key("k")}, {}, tools=(careful,), channels={})
        )
        await self._serve()
        self.owner = await self.person((await self.roost.app.owner()).id)
        # His token was an admin's once.
        self.bob = await self.person(await self.user("Bob", "admin"))
        await self.roost.identities.people.set_role(self.bob.id, "member")

    def _config(self) -> Config:
        url = BaseUrl(self.models.openai_url)
        provider = ProviderConfig(vendor="compatible", base_url=url, models=("model",))
        return Config(
            data=self._folder,
            # Something is always under way here that never ends.
            server=msgspec.structs.replace(self._server, grace=timedelta(milliseconds=50)),
            models=ModelsConfig(default="test/model"),
            memory=MemoryConfig(),
            workspaces=WorkspacesConfig(sandbox="none"),
            providers={"test": provider},
        )

    async def _serve(self) -> None:
        ready, listener = asyncio.Event(), bind("127.0.0.1", 0)
        self.port = listener.getsockname()[1]
        serving = serve(
            self.roost.web(self._stop),
            listener,
            ready=ready.set,
            stop=self._stop,
            log_requests=False,
        )
        self._serving = asyncio.create_task(serving)
        async with asyncio.timeout(SECONDS):
            await ready.wait()

    async def _close(self) -> None:
        self._stop.set()
        await self._serving
        await self._stack.aclose()

    async def user(self, name: str, role: UserRole = "member") -> UserId:
        people = self.roost.identities.people
        return (await people.create(name, role=role, time_zone="UTC", locale="en")).id

    async def person(self, user: UserId) -> Person:
        identities = self.roost.identities
        scopes = ("read", "chat", "admin")
        token = await identities.create_token(user, name=f"{SECRET} token", scopes=scopes)
        talker = await identities.create_token(user, name="talker", scopes=("chat",))
        reader = await identities.create_token(user, name="reader", scopes=("read",))
        link = await identities.link(user)
        signed_in = await identities.sign_in_with_link(link.reveal(), f"{SECRET} browser")
        return Person(
            user,
            token.secret.reveal(),
            talker.secret.reveal(),
            reader.secret.reveal(),
            signed_in.secret.reveal(),
        )

    def furnish(self) -> None:
        """Something of everything, for the owner."""
        self.ids = self.run(self._furnish())

    async def _furnish(self) -> dict[str, str]:
        account = self.roost.app.of(self.owner.id)
        blob = await account.files.keep(_bytes(SECRET.encode()), "text/plain")
        talked = await self._session(account, SECRET)
        first = await account.send(talked, SECRET)
        await self.reached(account, first, "completed")
        queued = await self._busy(account, talked)
        approval = await self._asked(account)
        fact = await account.memory.remember(SECRET)
        rule = await account.decisions.add_rule("careful: " + SECRET, "allow")
        schedule = await account.schedules.add(_schedule(SECRET))
        await account.point("web", talked)
        messages = await account.messages(talked)
        tokens = await self.roost.identities.tokens(self.owner.id)
        sign_ins = await self.roost.identities.sign_ins(self.owner.id)
        return {
            "session": talked,
            "turn": queued.id,
            "message": messages[0].id,
            "epoch": "1",
            "approval": approval,
            "fact": fact.id,
            "rule": rule.id,
            "schedule": schedule.id,
            "route": "web",
            "file": blob.id,
            "process": "1",
            "token": tokens[0].id,
            "sign_in": sign_ins[0].id,
            "user": self.owner.id,
            "provider": "test",
            "channel": "small",
            "model": "test/model",
        }

    def fresh(self, names: Collection[str]) -> tuple[str, dict[str, str]]:
        """A token that may do everything, and new things of the owner's, by the names that a path
        has for them: whatever becomes of those."""
        return self.run(self._fresh(frozenset(names)))

    async def _fresh(self, names: frozenset[str]) -> tuple[str, dict[str, str]]:
        account, identities = self.roost.app.of(self.owner.id), self.roost.identities
        for token in await identities.tokens(self.owner.id):
            if token.name == "fresh":
                await identities.revoke_token(self.owner.id, token.id)
        scopes = ("read", "chat", "admin")
        made = await identities.create_token(self.owner.id, name="fresh", scopes=scopes)
        ids = {"epoch": "1", "process": "1", "route": "web", "provider": "x", "model": "test/model"}
        ids["channel"] = "x"
        if names & {"session", "turn", "message"}:
            session = await self._session(account, "Fresh")
            turn = await account.send(session, "Hello")
            await self.reached(account, turn, "completed")
            message = (await account.messages(session))[0].id
            ids |= {"session": session, "turn": turn.id, "message": message}
        if "approval" in names:
            ids["approval"] = await self._asked(account)
        if "fact" in names:
            ids["fact"] = (await account.memory.remember(f"Fresh {made.token.id}")).id
        if "rule" in names:
            ids["rule"] = (await account.decisions.add_rule("careful: x", "allow")).id
        if "schedule" in names:
            for each in await account.schedules.all():  # there is a most, which others may reach
                if each.name != SECRET:
                    await account.schedules.remove(each.id)
            ids["schedule"] = (await account.schedules.add(_schedule("Fresh"))).id
        if "file" in names:
            ids["file"] = (await account.files.keep(_bytes(b"fresh"), "text/plain")).id
        if names & {"user", "token", "sign_in"}:
            user = await self.user(f"Fresh {made.token.id}")
            ids |= {"user": user}
            scopes = ("read",)
            owner = user if "user" in names else self.owner.id
            token = await identities.create_token(owner, name="fresh", scopes=scopes)
            link = await identities.link(self.owner.id)
            signed_in = await identities.sign_in_with_link(link.reveal(), None)
            ids |= {"token": token.token.id, "sign_in": signed_in.id}
        return made.secret.reveal(), ids

    async def _busy(self, account: Account, session: SessionId) -> Turn:
        """A turn under way, and one that waits for it. From then on neither changes by itself."""
        await account.send(session, STALL)
        await eventually(self._thinks)
        await self.roost.app.parts.checkpoints.flush()
        return await account.send(session, SECRET)

    async def _thinks(self) -> bool:
        return any(each.is_stalled for each in self.models.requests)

    async def _asked(self, account: Account) -> str:
        for rule in await account.decisions.rules():
            await account.decisions.remove_rule(rule.id)
        session = await self._session(account, SECRET)
        turn = await account.send(session, ASK)
        await self.reached(account, turn, "waiting")
        pending = await account.decisions.pending()
        return next(approval.id for approval in pending if approval.session == session)

    async def _session(self, account: Account, title: str) -> SessionId:
        """Whatever someone has made the default."""
        created = await account.create(
            origin="web", title=title, model="test/model", toolset="full"
        )
        return created.id

    async def reached(self, account: Account, turn: Turn, state: TurnState) -> None:
        async with asyncio.timeout(SECONDS), account.watch(turn.session) as events:
            while (await account.turn(turn.session, turn.id)).state != state:
                await anext(events)

    # Attacks.

    def ask(
        self,
        method: str,
        target: str,
        body: object = None,
        *,
        token: str | None = None,
        cookie: str | None = None,
        headers: Sequence[tuple[str, str]] = (),
        data: bytes | None = None,
    ) -> Answer:
        """One request, with these headers and no others but what HTTP needs. A JSON body is given
        by `body`, any other by `data`."""
        sent = list(headers)
        if body is not None:
            data = msgspec.json.encode(body)
            sent.append(("Content-Type", "application/json"))
        if token is not None:
            sent.append(("Authorization", f"Bearer {token}"))
        if cookie is not None:
            sent.append(("Cookie", f"roost={cookie}"))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            skip = any(name.lower() == "host" for name, _ in sent)
            connection.putrequest(method, target, skip_host=skip, skip_accept_encoding=True)
            for name, value in sent:
                connection.putheader(name, value)
            if data is not None or method in ("POST", "PUT", "PATCH"):
                connection.putheader("Content-Length", str(len(data or b"")))
            connection.endheaders(data)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            streams = found.get("content-type") == "text/event-stream"
            return Answer(response.status, found, b"" if streams else response.read())
        finally:
            connection.close()

    def raw(self, request: bytes) -> bytes:
        """All that is answered to these bytes, until the server hangs up."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as connection:
            answer = b""
            try:
                with suppress(ConnectionError):  # it may hang up before it has heard all
                    connection.sendall(request)
                while chunk := connection.recv(65536):
                    answer += chunk
            except ConnectionError:
                pass
            return answer

    def state(self) -> object:
        """All that an attack could have changed of the owner's. In which order sessions are listed
        is not of that kind: the one that streams all the while comes to the top now and then."""
        return self.run(self._state())

    async def _state(self) -> object:
        account = self.roost.app.of(self.owner.id)
        sessions = await account.sessions(limit=200)
        return (
            sorted([(each.id, each.revision, each.ended_at, each.title) for each in sessions]),
            await account.decisions.pending(),
            await account.decisions.rules(),
            await account.memory.page(),
            await account.current("web"),
            [each.id for each in await self.roost.identities.tokens(self.owner.id)],
            [each.id for each in await self.roost.identities.sign_ins(self.owner.id)],
            await self.roost.identities.people.all(),
        )


def _answer(request: ModelRequest) -> Reply:
    if "careful" in request.tools and STALL in request.last_text:
        return say(SECRET) + stall()
    if "careful" in request.tools and ASK in request.last_text:
        return call("careful", {"text": SECRET})
    return say("Good day.")


def _schedule(words: str) -> NewSchedule:
    when = When(kind="every", spec="1h", time_zone="UTC")
    return NewSchedule(id=new_schedule_id(), name=words, when=when, text=words)


async def _act(arguments: str, context: object) -> str:
    return "done"


async def _bytes(data: bytes) -> AsyncIterator[bytes]:
    yield data


@contextmanager
def opened(folder: Path, *, server: ServerConfig | None = None) -> Generator[House]:
    house = House(folder, server=server)
    house.run(house.open())
    try:
        yield house
    finally:
        house.close()
