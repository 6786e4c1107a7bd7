"""What messaging platforms call: handed to the channel whose name is in the path, which checks the
signature itself. Nobody is signed in here."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from roost.core.inbound import HookCall, HookReply
from roost.http.bodies import read_body
from roost.http.problems import ProblemError

log = structlog.stdlib.get_logger("roost.channels")

BODY_LIMIT = 4 << 20
SMALL = 64 << 10
LARGE_AT_ONCE = 8
"""A body is read before its signature can be looked at: so few large ones are, at a time."""

_REFUSED = frozenset({401, 403, 404, 405})
_SAID = "No channel takes this here: there is none of that name, or the signature is wrong."

Receive = Callable[[str, HookCall], Awaitable[HookReply | None]]
"""Hands a call to the channel of that name. None if there is no such channel, or none that is
called."""


def hook_routes(receive: Receive) -> list[Route]:
    large = asyncio.Semaphore(LARGE_AT_ONCE)

    async def hooked(request: Request) -> Response:
        if request.method == "HEAD":  # which comes with GET
            raise ProblemError(HTTPStatus.METHOD_NOT_ALLOWED, "Use GET or POST.")
        name: str = request.path_params["channel"]
        call = HookCall(
            method=request.method,
            query=request.url.query,
            headers={key.lower(): value for key, value in request.headers.items()},
            body=await _body(request, large),
        )
        reply = await receive(name, call)
        if reply is None or reply.status in _REFUSED:
            # To all but whoever can sign, a channel is as good as none.
            if reply is not None:
                log.debug(
                    "a hook was refused", channel=name, why=reply.body[:200].decode("latin-1")
                )
            raise ProblemError(HTTPStatus.UNAUTHORIZED, _SAID)
        headers = {"Cache-Control": "no-store", "Content-Type": reply.media_type}
        return Response(reply.body, reply.status, headers=headers)

    return [Route("/hooks/{channel}", hooked, methods=["GET", "POST"])]


async def _body(request: Request, large: asyncio.Semaphore) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared) <= SMALL:
        return await read_body(request, SMALL)
    if request.method == "GET":
        return await read_body(request, 0)
    async with large:
        return await read_body(request, BODY_LIMIT)
