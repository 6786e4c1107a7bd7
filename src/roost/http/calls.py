"""Who makes a request: a browser that signed in, or a program with a token."""

from http import HTTPStatus
from typing import NamedTuple

from starlette.requests import Request

from roost.http.origins import check_origin, is_secure
from roost.http.problems import ProblemError
from roost.runtime.account import Account
from roost.runtime.app import App
from roost.runtime.identities import Identities, Principal, Scope

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Call(NamedTuple):
    """What a handler gets: who asks, and what they can do."""

    request: Request
    app: App
    identities: Identities
    principal: Principal | None

    @property
    def who(self) -> Principal:
        assert self.principal is not None, "only an endpoint with a scope asks"
        return self.principal

    @property
    def account(self) -> Account:
        return self.app.of(self.who.user.id)


class Callers:
    def __init__(self, app: App, identities: Identities) -> None:
        self._app = app
        self._identities = identities

    async def identify(self, request: Request, scope: Scope | None) -> Call:
        """Refuse whoever may not call this. `scope` None is for anyone, from our own pages."""
        principal = None if scope is None else await self._principal(request)
        if request.method not in SAFE and (principal is None or principal.via == "browser"):
            check_origin(request, required=principal is not None)
        if principal is not None and scope is not None and not principal.may(scope):
            said = f"This needs the scope {scope}, which you don't have."
            raise ProblemError(HTTPStatus.FORBIDDEN, said)
        return Call(request, self._app, self._identities, principal)

    async def _principal(self, request: Request) -> Principal:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if token and kind.lower() == "bearer":
            found = await self._identities.authenticate(bearer=token.strip())
        elif cookie := request.cookies.get(cookie_name(request)):
            found = await self._identities.authenticate(cookie=cookie)
        else:
            found = None
        if found is None:
            said = "Sign in first, or send a token: Authorization: Bearer …"
            headers = {"WWW-Authenticate": "Bearer"}
            raise ProblemError(HTTPStatus.UNAUTHORIZED, said, headers)
        return found


def cookie_name(request: Request) -> str:
    """With TLS the name itself keeps other hosts and paths from setting it."""
    return "__Host-roost" if is_secure(request) else "roost"
