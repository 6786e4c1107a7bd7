"""The few pages that are there without the web app: signing in, and what the API offers."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from roost.http.endpoint import Answer

_FOLDER = Path(__file__).parent / "plain"
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}


def _page(name: str) -> Answer:
    body = (_FOLDER / name).read_bytes()
    kind = _TYPES[Path(name).suffix]
    headers = {"Cache-Control": "no-cache"}

    async def answer(_: Request) -> Response:
        return Response(body, headers=headers, media_type=kind)

    return answer


ROUTES = (
    Route("/", _page("home.html")),
    Route("/sign-in", _page("sign_in.html")),
    Route("/plain/sign_in.js", _page("sign_in.js")),
    Route("/plain/plain.css", _page("plain.css")),
    Route("/api/docs", _page("docs.html")),
    Route("/plain/docs.js", _page("docs.js")),
)
