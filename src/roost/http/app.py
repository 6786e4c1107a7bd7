"""The ASGI application: every path that Roost answers."""

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from roost.http.problems import HANDLERS


def create_app(*, version: str) -> Starlette:
    health = msgspec.json.encode({"status": "ok", "version": version})

    async def healthz(_: Request) -> Response:
        return Response(health, media_type="application/json")

    return Starlette(routes=[Route("/healthz", healthz)], exception_handlers=HANDLERS)
