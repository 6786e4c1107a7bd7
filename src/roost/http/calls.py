"""Who makes a request: a browser that signed in, or a program with a token."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import NamedTuple, TypeVar

from starlette.requests import Request

from roost.core.errors import AccessRefused, NotSignedIn, StoreError
from roost.core.identities import Need, Principal, Via
from roost.http.origins import check_origin, is_secure
from roost.http.stream import EventStream
from roost.llm.providers import Providers
from roost.runtime.account import Account
from roost.runtime.app import App
from roost.runtime.identities import Identities

E = TypeVar("E")

SURFACES: dict[Via, str] = {"browser": "web", "token": "api", "cli": "cli"}
TRANSFERS = 2
"""Imports at the same time, and as many exports, of all users together."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Call(NamedTuple):
    """What a handler gets: who asks, and what they can do."""

    request: Request
    callers: "Callers"
    principal: Principal | None

    @property
    def who(self) -> Principal:
        assert self.principal is not None, "only an endpoint with a scope asks"
        return self.principal

    @property
    def account(self) -> Account:
        return self.callers.app.of(self.who.user.id)

    @property
    def surface(self) -> str:
        """Where a session that is opened now began, and where an answer came from."""
        return SURFACES[self.who.via]

    @property
    def identities(self) -> Identities:
        return self.callers.identities

    @property
    def providers(self) -> Providers:
        return self.callers.app.parts.catalogue.providers

    @property
    def address(self) -> str:
        """Where the request came from, as far as we know."""
        return self.request.client.host if self.request.client else ""

    def check_model(self, model: object) -> None:
        """To run a file of this machine is for who sees to models; one of those that are set up is
        for everyone."""
        if isinstance(model, str) and self.providers.is_strange_file(model):
            self.who.need("admin")

    def stream(
        self,
        source: AbstractAsyncContextManager[AsyncIterator[E]],
        encode: Callable[[E], bytes],
    ) -> EventStream[E]:
        callers = self.callers
        return EventStream(
            source,
            encode,
            stop=callers.stop,
            holds=self.holds,
            changed=self.changed,
            heartbeat=callers.heartbeat,
        )

    def changed(self) -> asyncio.Event:
        """Is set once it is time to ask again whether it `holds`."""
        return self.identities.changed

    async def refused(self) -> None:
        """Returns once who asks would not be let in any more."""
        changed = self.changed()  # each before it is asked: no change is missed
        while await self.holds():
            with suppress(TimeoutError):
                async with asyncio.timeout(self.callers.heartbeat):
                    await changed.wait()
            changed = self.changed()

    async def holds(self) -> bool:
        """Whether who asks would still be let in: what is open for long asks again."""
        try:
            return (await self.callers.principal(self.request)).user.id == self.who.user.id
        except AccessRefused:
            return False
        except StoreError:
            return True  # nobody can say just now


class Callers:
    """`stop` is set when the server stops: what would go on for long ends then."""

    def __init__(
        self, app: App, identities: Identities, *, stop: asyncio.Event, heartbeat: float
    ) -> None:
        self.app = app
        self.identities = identities
        self.stop = stop
        self.heartbeat = heartbeat
        self.imports = asyncio.Semaphore(TRANSFERS)
        self.exports = asyncio.Semaphore(TRANSFERS)

    async def identify(self, request: Request, scope: Need | None) -> Call:
        """Refuse whoever may not call this. `scope` None is for anyone, from our own pages."""
        principal = None if scope is None else await self.principal(request)
        if request.method not in SAFE and (principal is None or principal.via == "browser"):
            check_origin(request, required=principal is not None)
        if principal is not None and scope is not None:
            principal.need(scope)
        return Call(request, self, principal)

    async def principal(self, request: Request) -> Principal:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if token and kind.lower() == "bearer":
            return await self.identities.authenticate(bearer=token.strip())
        if cookie := request.cookies.get(cookie_name(request)):
            return await self.identities.authenticate(cookie=cookie)
        raise NotSignedIn


def cookie_name(request: Request) -> str:
    """With TLS the name itself keeps other hosts and paths from setting it."""
    return "__Host-roost" if is_secure(request) else "roost"
