"""People who talk to several servers at once, and keep books on what they are told."""

import asyncio
import contextlib
import itertools
import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from roost.core.ids import SessionId, TurnId, new_session_id
from roost.core.turns import TurnState
from tests.faults.cluster_model import question
from tests.unit.http.page import Page
from tests.unit.http.served import Address, Client

SILENCE = 6.0
"""Seconds after which a client tries another server."""
LONGEST = 4
"""Turns in a session; then another one is begun."""
WORDS = (10, 40)

_GONE = (aiohttp.ClientError, OSError, TimeoutError)
_GOES_ON: frozenset[TurnState] = frozenset({"queued", "running", "interrupted"})


class Anywhere:
    """The address of a server, each time of another one."""

    def __init__(self, servers: Sequence[Address], chance: random.Random) -> None:
        self._servers = servers
        self._random = chance

    @property
    def url(self) -> URL:
        return self._random.choice(self._servers).url


class Acknowledged(msgspec.Struct, frozen=True):
    """A message that a server has taken."""

    turn: TurnId
    session: SessionId
    text: str


class Person:
    """Has one conversation after the other, and reads along. `over` is set when it is time to come
    to an end."""

    def __init__(self, name: str, client: Client, seed: int, over: asyncio.Event) -> None:
        self.name = name
        self.sent: list[Acknowledged] = []
        self.pages: dict[SessionId, Page] = {}
        self._client = client
        self._over = over
        self._random = random.Random(seed)  # noqa: S311 (reproducible, not secret)
        self._numbers = itertools.count(1)
        self._news = asyncio.Event()

    async def talk(self) -> None:
        while not self._over.is_set():
            session = new_session_id()
            await self._ask(f"sessions/{session}", "/api/sessions", {"id": session, "title": "T"})
            async with self._reading(session) as page:
                for _ in range(LONGEST):
                    if not self._over.is_set():
                        await self._take_turn(session, page)

    async def _take_turn(self, session: SessionId, page: Page) -> None:
        text = question(f"{self.name}.{next(self._numbers)}", self._random.randint(*WORDS))
        path, key = f"/api/sessions/{session}/turns", {"Idempotency-Key": text}
        answer = await self._ask(text, path, {"text": text}, key)
        sent = Acknowledged(TurnId(answer["id"]), session, text)
        self.sent.append(sent)
        while (state := await self._state(sent, page)) != "completed":
            assert state in _GOES_ON, f"{sent} is {state}"
            if not await self._hears() and state == "interrupted":
                await self._go_on(session)

    async def _state(self, sent: Acknowledged, page: Page) -> TurnState:
        """As the page has it. One that came back late was not told of what had ended before."""
        if (state := page.states.get(sent.turn)) is not None:
            return state
        path = f"/api/sessions/{sent.session}/turns/{sent.turn}"
        while True:
            with contextlib.suppress(*_GONE):
                return (await self._client.get(path))["state"]
            await self._rest()

    async def _hears(self) -> bool:
        self._news.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SILENCE):
                return await self._news.wait()
        return False

    async def _go_on(self, session: SessionId) -> None:
        """By itself a turn goes on only once. Another may have been faster."""
        with contextlib.suppress(*_GONE):
            await self._client.post(f"/api/sessions/{session}/continue")

    async def _ask(
        self, what: str, path: str, body: object, headers: Mapping[str, str] | None = None
    ) -> Any:  # noqa: ANN401
        """Again and again, wherever, until it is taken."""
        while True:
            try:
                return (await self._client.post(path, body, headers=headers))[1]
            except aiohttp.ClientResponseError as error:
                if error.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise AssertionError(f"{what} was refused") from error
            except _GONE:
                pass
            await self._rest()

    async def _rest(self) -> None:
        await asyncio.sleep(self._random.uniform(0.05, 0.3))

    # Reading.

    @contextlib.asynccontextmanager
    async def _reading(self, session: SessionId) -> AsyncGenerator[Page]:
        page = self.pages[session] = Page()
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(self._read(session, page))
            yield page
            reading.cancel()

    async def _read(self, session: SessionId, page: Page) -> None:
        while True:
            with contextlib.suppress(*_GONE):
                async with self._client.watch(session, after=page.last) as events:
                    async for told in events:
                        page.take(told)
                        self._news.set()
            await self._rest()

    async def check_pages(self, client: Client) -> None:
        """What is shown in the end is what is stored. `client` is in no hurry."""
        for session, page in self.pages.items():
            found = await client.get(f"/api/sessions/{session}")
            async with client.watch(session, after=page.last) as events:
                while page.cursor.revision < found["revision"]:
                    page.take(await anext(events))
            await page.check_equals_what_is_stored(client, session)


@contextlib.asynccontextmanager
async def client_of(
    servers: Sequence[Address], token: str, seed: int, *, silence: float = SILENCE
) -> AsyncGenerator[Client]:
    chance = random.Random(seed)  # noqa: S311 (reproducible, not secret)
    limits = aiohttp.ClientTimeout(total=None, sock_connect=silence, sock_read=silence)
    async with aiohttp.ClientSession(
        headers={"Authorization": f"Bearer {token}"},
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        timeout=limits,
        raise_for_status=_taken,
    ) as opened:
        yield Client(Anywhere(servers, chance), opened)


async def _taken(response: aiohttp.ClientResponse) -> None:
    if response.status >= HTTPStatus.BAD_REQUEST:
        info, said = response.request_info, await response.text()
        raise aiohttp.ClientResponseError(info, (), status=response.status, message=said)
