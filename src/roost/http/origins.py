"""Where a request was sent to and where it comes from: only our own names, only our own pages."""

from collections.abc import Collection
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roost.http.problems import ProblemError, respond

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; "
    "frame-src 'self' blob:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    b"content-security-policy": _POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
}
"""On every answer that does not say otherwise itself."""


class OwnNames:
    """Refuses requests for names that are not ours: a page of a name that was pointed at us (DNS
    rebinding) would otherwise be taken for one of ours. The address that a request came to is no
    name that could be pointed anywhere."""

    def __init__(self, app: ASGIApp, *, names: Collection[str]) -> None:
        self._app = app
        self._names = frozenset(_in_host(name) for name in (*LOOPBACK, *names))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        hosts = Headers(scope=scope).getlist("host")
        if len(hosts) != 1 or _without_port(hosts[0]) not in {*self._names, _came_to(scope)}:
            said = "This address is not one of Roost's. Add it to server.names if it should be."
            refused = respond(HTTPStatus.MISDIRECTED_REQUEST, said)
            await refused(scope, receive, _guarded(send))
            return
        await self._app(scope, receive, _guarded(send))


def _guarded(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            more = [(name, value) for name, value in HEADERS.items() if name not in given]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return guarded


def _in_host(name: str) -> str:
    """As it stands in the header: an IPv6 address is in brackets there."""
    return (f"[{name}]" if ":" in name and not name.startswith("[") else name).lower()


def _came_to(scope: Scope) -> str | None:
    server: tuple[str, int | None] | None = scope.get("server")
    return None if server is None or server[1] is None else _in_host(server[0])


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def is_secure(request: Request) -> bool:
    return request.scope["scheme"] == "https"


def own_origin(request: Request) -> str:
    return f"{request.scope['scheme']}://{request.headers['host'].lower()}"


def check_origin(request: Request, *, required: bool) -> None:
    """A browser says from which page a request comes. With a cookie it has to, and the page has to
    be ours; whoever has no cookie has nothing that another page could use."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    if site not in ("same-origin", "none") or (origin or "").lower() not in (
        own_origin(request),
        "" if not required else own_origin(request),
    ):
        said = "This request does not come from one of Roost's own pages."
        raise ProblemError(HTTPStatus.FORBIDDEN, said)
