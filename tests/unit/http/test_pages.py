"""The web app as a browser gets it, from a folder that a build could have made."""

import gzip
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from roost.http.pages import Pages
from roost.http.problems import HANDLERS
from roost.http.static_files import FOREVER
from tests.unit.http.serving import Ask, serving

SCRIPT = b"console.log('roost');" * 100
BROTLI = b"as if it were Brotli"
PAGE = b"<!doctype html><title>Roost</title>"
ASSET = "/assets/index-D4AsxIDN.js"
SHOWN = "text/html,application/xhtml+xml,*/*;q=0.8"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_bytes(PAGE)
    (folder / "worker.js").write_bytes(SCRIPT)
    (folder / ".hidden.js").write_bytes(SCRIPT)
    (folder / "notes.txt").write_bytes(SCRIPT)
    (tmp_path / "outside.js").write_bytes(SCRIPT)
    (folder / ASSET[1:]).write_bytes(SCRIPT)
    (folder / f"{ASSET[1:]}.gz").write_bytes(gzip.compress(SCRIPT))
    (folder / f"{ASSET[1:]}.br").write_bytes(BROTLI)
    return folder


async def _written(_: Request) -> Response:
    return Response()


@pytest.fixture
async def ask(folder: Path) -> AsyncGenerator[Ask]:
    pages = Pages(folder)
    written = Route("/api/written", _written, methods=["POST"])
    app = Starlette(routes=[*pages.routes(), written], exception_handlers=HANDLERS)
    app.router.default = pages.otherwise
    async with serving(app) as ask:
        yield ask


@pytest.mark.parametrize("path", ["/", "/sign-in", "/s/ses_1", "/settings", "/settings/models"])
async def test_every_page_of_the_app_is_its_one_file(ask: Ask, path: str) -> None:
    answer = await ask("GET", path, Accept=SHOWN)
    assert (answer.status, answer.body) == (200, PAGE)
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/assets/gone-1.js", "/api/nowhere", "/v1/nowhere", "/plain/x"])
async def test_page_stands_in_for_nothing_else(ask: Ask, path: str) -> None:
    answer = await ask("GET", path, Accept=SHOWN)
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")


async def test_page_is_for_those_who_show_pages(ask: Ask) -> None:
    assert (await ask("GET", "/settings", Accept="*/*")).status == 404
    assert (await ask("POST", "/settings", Accept=SHOWN)).status == 404
    assert (await ask("GET", "/api/written", Accept=SHOWN)).status == 405
    assert (await ask("POST", "/sign-in", Accept=SHOWN)).status == 405


async def test_page_is_asked_for_each_time_but_sent_only_when_it_changed(
    ask: Ask, folder: Path
) -> None:
    tag = (await ask("GET", "/")).headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}'):
        again = await ask("GET", "/", If_None_Match=known)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    (folder / "index.html").write_bytes(b"a newer page")
    assert (await ask("GET", "/", If_None_Match=tag)).body == b"a newer page"


async def test_asset_is_kept_for_good(ask: Ask) -> None:
    answer = await ask("GET", ASSET)
    assert (answer.status, answer.body) == (200, SCRIPT)
    assert answer.headers["cache-control"] == FOREVER
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    head = await ask("HEAD", ASSET)
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", answer.headers["etag"])


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("br;q=0, gzip;q=0.5", "gzip"),
        ("BR; q=0.0, GZIP", "gzip"),
        ("identity", None),
        ("", None),
    ],
)
async def test_asset_comes_as_small_as_it_is_accepted(
    ask: Ask, accepted: str, encoding: str | None
) -> None:
    answer = await ask("GET", ASSET, Accept_Encoding=accepted)
    bodies = {"br": BROTLI, "gzip": gzip.compress(SCRIPT), None: SCRIPT}
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["vary"] == "Accept-Encoding"
    assert len(answer.body) == len(bodies[encoding])


async def test_each_form_of_an_asset_has_a_tag_of_its_own(ask: Ask) -> None:
    forms = [await ask("GET", ASSET, Accept_Encoding=each) for each in ("br", "gzip", "identity")]
    assert len({form.headers["etag"] for form in forms}) == 3


async def test_files_beside_the_page_are_asked_for_each_time(ask: Ask) -> None:
    answer = await ask("GET", "/worker.js")
    assert (answer.status, answer.body) == (200, SCRIPT)
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    [
        "/assets/..%2foutside.js",
        "/assets/..%2f..%2foutside.js",
        "/assets/%2e%2e/outside.js",
        "/assets/../../outside.js",
        "/..%2foutside.js",
        "/assets/index-D4AsxIDN.js%00",
        "/assets/index-D4AsxIDN.js.br",
        "/assets/",
        "/.hidden.js",
        "/notes.txt",
    ],
)
async def test_only_what_a_page_needs_is_served(ask: Ask, path: str) -> None:
    assert (await ask("GET", path)).status == 404


async def test_server_whose_app_is_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    async with serving(Starlette(routes=Pages(tmp_path / "static").routes())) as ask:
        page = await ask("GET", "/", Accept=SHOWN)
        assert (page.status, page.headers["cache-control"]) == (503, "no-store")
        assert b"make web" in page.body
        assert (await ask("GET", "/plain/plain.css")).status == 200
        assert (await ask("GET", "/api/docs")).status == 200
