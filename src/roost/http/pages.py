"""What a browser shows: the web app, and the page about the API, which is there without it."""

from http import HTTPStatus
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from roost.http.endpoint import Answer
from roost.http.static_files import ASK_AGAIN, FOLDER, FOREVER, static_file

_PLAIN = Path(__file__).parent / "plain"
_PAGE = "index.html"
_NOT_OF_THE_APP = ("api", "assets", "hooks", "plain", "v1")
"""How addresses begin that are never a page of the web app."""


class Pages:
    """The web app, built into `folder`. It finds out by itself which of its pages an address is, so
    what no route answers is the same file each time, if a browser wants to show it."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._unbuilt = (_PLAIN / "unbuilt.html").read_bytes()

    def routes(self) -> list[Route]:
        return [
            Route("/", self._page),
            Route("/sign-in", self._page),
            Route("/assets/{name}", self._asset),
            Route("/api/docs", _plain("docs.html")),
            Route("/plain/docs.js", _plain("docs.js")),
            Route("/plain/plain.css", _plain("plain.css")),
        ]

    async def otherwise(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._otherwise(request)
        await response(scope, receive, send)

    async def _otherwise(self, request: Request) -> Response:
        first, slash, _ = request.url.path[1:].partition("/")
        if request.method not in ("GET", "HEAD") or first in _NOT_OF_THE_APP:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        found = None
        if not slash:
            found = await static_file(request, self._folder, first, cache=ASK_AGAIN)
        if found is None and "text/html" in request.headers.get("accept", ""):
            return await self._page(request)
        return _there(found)

    async def _page(self, request: Request) -> Response:
        page = await static_file(request, self._folder, _PAGE, cache=ASK_AGAIN)
        return page or Response(
            self._unbuilt,
            HTTPStatus.SERVICE_UNAVAILABLE,
            {"Cache-Control": "no-store"},
            "text/html",
        )

    async def _asset(self, request: Request) -> Response:
        folder, name = self._folder / "assets", request.path_params["name"]
        return _there(await static_file(request, folder, name, cache=FOREVER))


def _there(found: Response | None) -> Response:
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    return found


def _plain(name: str) -> Answer:
    async def answer(request: Request) -> Response:
        return _there(await static_file(request, _PLAIN, name, cache=ASK_AGAIN))

    return answer
