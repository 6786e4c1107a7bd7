"""Routes: the current session of a place where people talk."""

from collections.abc import Sequence

import msgspec

from roost.core.errors import NotFound
from roost.core.ids import SessionId
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.fields import GivenSession
from roost.http.views import SessionView, session_view


class RouteView(msgspec.Struct, frozen=True):
    """`name` is who or what is there, if that is known."""

    route: str
    session: SessionId | None
    name: str | None


class RouteList(msgspec.Struct, frozen=True):
    routes: Sequence[RouteView]


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    session: GivenSession


async def listed(call: Call) -> RouteList:
    """List the places on channels where you talk, the last one first, and what is current there."""
    found = await call.callers.app.parts.contacts.places(call.who.user.id)
    return RouteList([RouteView(each.route, each.session, each.name) for each in found])


async def current(call: Call, route: str) -> SessionView:
    """Read the current session of a route."""
    found = await call.account.current(route)
    if found is None:
        raise NotFound("session on the route", route[:80])
    return session_view(await call.account.session(found), call.providers)


async def _check(call: Call, route: str) -> None:
    """A channel's route is for who has talked there: answers go to it."""
    if ":" in route and not await call.account.has_route(route):
        raise NotFound("route", route[:80])


async def pointed(call: Call, route: str, body: Target) -> SessionView:
    """Make a session the current one of a route."""
    await _check(call, route)
    await call.account.point(route, SessionId(body.session))
    return session_view(await call.account.session(body.session), call.providers)


async def reset(call: Call, route: str) -> SessionView:
    """End the route's session, and open another in its place."""
    await _check(call, route)
    return session_view(await call.account.reset(route, origin=call.surface), call.providers)


ENDPOINTS = (
    endpoint("GET", "/api/routes", listed, scope="read"),
    endpoint("GET", "/api/routes/{route}", current, scope="read"),
    endpoint("PUT", "/api/routes/{route}", pointed, scope="chat"),
    endpoint("POST", "/api/routes/{route}/reset", reset, scope="chat", status=201),
)
