"""Routes: the current session of a place where people talk."""

import msgspec

from roost.core.errors import NotFound
from roost.core.ids import SessionId
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.fields import GivenSession
from roost.http.views import SessionView, session_view


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    session: GivenSession


async def current(call: Call, route: str) -> SessionView:
    """Read the current session of a route."""
    found = await call.account.current(route)
    if found is None:
        raise NotFound("session on the route", route[:80])
    return session_view(await call.account.session(found), call.providers)


async def pointed(call: Call, route: str, body: Target) -> SessionView:
    """Make a session the current one of a route."""
    await call.account.point(route, SessionId(body.session))
    return session_view(await call.account.session(body.session), call.providers)


async def reset(call: Call, route: str) -> SessionView:
    """End the route's session, and open another in its place."""
    return session_view(await call.account.reset(route, origin=call.surface), call.providers)


ENDPOINTS = (
    endpoint("GET", "/api/routes/{route}", current, scope="read"),
    endpoint("PUT", "/api/routes/{route}", pointed, scope="chat"),
    endpoint("POST", "/api/routes/{route}/reset", reset, scope="chat", status=201),
)
