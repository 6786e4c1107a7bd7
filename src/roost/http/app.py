"""The ASGI application: every path that Roost answers."""

import asyncio
from collections.abc import Sequence

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from roost import __version__
from roost.core.config import ServerConfig
from roost.http import (
    about,
    answering,
    approvals,
    auth,
    channels,
    events,
    files,
    history,
    links,
    memory,
    metrics,
    models,
    openai_api,
    schedules,
    sessions,
    settings,
    tokens,
    tools,
    transfer,
    turns,
    usage,
    users,
    workspace_files,
    workspaces,
)
from roost.http import routes as places
from roost.http.calls import Callers
from roost.http.endpoint import Answer, Endpoint, routes
from roost.http.hooks import Receive, hook_routes
from roost.http.openai_errors import in_openais_words
from roost.http.openapi import document
from roost.http.origins import OwnNames
from roost.http.pages import Pages
from roost.http.problems import HANDLERS
from roost.http.proxies import Proxied
from roost.http.stream import HEARTBEAT
from roost.runtime.app import App
from roost.runtime.identities import Identities

ENDPOINTS: Sequence[Endpoint] = (
    *auth.ENDPOINTS,
    *tokens.ENDPOINTS,
    *sessions.ENDPOINTS,
    *history.ENDPOINTS,
    *turns.ENDPOINTS,
    *events.ENDPOINTS,
    *approvals.ENDPOINTS,
    *schedules.ENDPOINTS,
    *answering.ENDPOINTS,
    *places.ENDPOINTS,
    *channels.ENDPOINTS,
    *files.ENDPOINTS,
    *workspace_files.ENDPOINTS,
    *workspaces.ENDPOINTS,
    *transfer.ENDPOINTS,
    *usage.ENDPOINTS,
    *memory.ENDPOINTS,
    *models.ENDPOINTS,
    *settings.ENDPOINTS,
    *tools.ENDPOINTS,
    *about.ENDPOINTS,
    *metrics.ENDPOINTS,
    *users.ENDPOINTS,
    *links.ENDPOINTS,
    *openai_api.ENDPOINTS,
)


def create_app(
    app: App,
    identities: Identities,
    config: ServerConfig,
    *,
    stop: asyncio.Event,
    heartbeat: float = HEARTBEAT,
    hooks: Receive | None = None,
) -> Starlette:
    """`stop` is set when the server is to stop: streams end then. `hooks` takes what messaging
    platforms send."""
    pages = Pages()
    callers = Callers(app, identities, stop=stop, heartbeat=heartbeat)
    web = Starlette(
        routes=[
            *_states(app),
            Route("/api/openapi.json", _fixed(document(ENDPOINTS, version=__version__))),
            *(hook_routes(hooks) if hooks else ()),
            *pages.routes(),
            *routes(ENDPOINTS, callers),
        ],
        middleware=[
            Middleware(Proxied, proxies=config.proxies),
            Middleware(OwnNames, names=(config.host, *config.names)),
        ],
        exception_handlers=in_openais_words(HANDLERS),
    )
    web.router.default = pages.otherwise
    web.router.redirect_slashes = False  # every address has one name
    return web


def _states(app: App) -> list[Route]:
    health = msgspec.json.encode({"status": "ok", "version": __version__})
    ready = msgspec.json.encode({"status": "ready"})

    async def readyz(_: Request) -> Response:
        """Whether the store answers; if not, its error does."""
        await app.parts.store.settings.get("ready")
        return Response(ready, media_type="application/json")

    return [Route("/healthz", _fixed(health)), Route("/readyz", readyz)]


def _fixed(body: bytes) -> Answer:
    async def answer(_: Request) -> Response:
        return Response(body, media_type="application/json")

    return answer
