"""What is wrong with a request is said before anything is done."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from roost.http import bodies
from roost.http.endpoint import endpoint as made
from tests.unit.http.served import Client, Served

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/api/sessions", b"{", 400, "The body is not JSON"),
        ("/api/sessions", b'{"title": 1}', 400, "Expected `str | null`, got `int`"),
        ("/api/sessions", b'{"title": "\xff"}', 400, "The body is not JSON"),
        ("/api/sessions", b'{"title": "\\ud800"}', 400, "The body is not JSON"),
        ("/api/sessions", b"[" * 100_000, 400, "The body"),
        ("/api/sessions", b'{"x":' + b"[" * 100_000, 400, "The body"),
        ("/api/sessions", b'{"title": "%s"}' % (b"x" * 501), 400, "length <= 500"),
        ("/api/sessions?x=y", b"{}", 400, "This address takes no query."),
        ("/api/rules", b"", 400, "The body is not JSON"),
    ],
)
async def test_bad_bodies_are_refused_with_a_reason(
    browser: Client, path: str, body: bytes, status: int, said: str
) -> None:
    answered, problem = await browser.ask("POST", path, data=body, headers=JSON)
    assert answered == status
    assert said in problem["detail"]


async def test_body_that_is_too_large_is_refused_before_all_of_it_came(
    served: Served, browser: Client
) -> None:
    async def large() -> AsyncGenerator[bytes]:
        for _ in range(20):
            yield b" " * 100_000

    url = served.url / "api/sessions"
    async with browser.connections.post(url, data=large(), headers=JSON) as answer:
        assert answer.status == 413


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_body_has_to_say_that_it_is_json(browser: Client, kind: str) -> None:
    """A form of another site can't."""
    headers = {"Content-Type": kind}
    assert (await browser.ask("POST", "/api/sessions", data=b"{}", headers=headers))[0] == 415


async def test_body_that_needs_nothing_may_be_left_out(browser: Client) -> None:
    assert (await browser.ask("POST", "/api/sessions"))[0] == 201


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("limit=0", ">= 1"),
        ("limit=many", "Expected `int`"),
        ("limit=1&limit=2", "'limit' is given twice"),
        ("limits=1", "unknown field `limits`"),
        ("after_at=99999999999999999999", "The query is wrong"),
        ("archived=perhaps", "Expected `bool`"),
    ],
)
async def test_bad_queries_are_refused_with_a_reason(
    browser: Client, query: str, said: str
) -> None:
    status, problem = await browser.ask("GET", f"/api/sessions?{query}")
    assert status == 400
    assert said in problem["detail"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/sessions/nonsense",
        "/api/sessions/ses_",
        "/api/sessions/ses_%0a",
        "/api/sessions/ses_01%2f..",
        "/api/sessions/trn_01m7fz75gn8ye7kw7sre653qwk",
        "/api/files/../../etc/passwd",
        f"/api/files/{'0' * 63}",
        "/api/routes/" + "x" * 201,
        "/api/routes/%00",
        "/api/sessions/ses_01m7fz75gn8ye7kw7sre653qwk/rewrites/-1/replaced",
    ],
)
async def test_what_is_no_id_is_not_found(browser: Client, path: str) -> None:
    assert (await browser.ask("GET", path))[0] == 404


async def test_body_that_does_not_come_is_not_waited_for(
    served: Served, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies.body_chunks, "__kwdefaults__", {"seconds": 0.05})
    cookies = browser.connections.cookie_jar.filter_cookies(served.url)
    cookie = "; ".join([f"{name}={morsel.value}" for name, morsel in cookies.items()])
    assert served.url.port is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", served.url.port)
    head = (
        f"POST /api/sessions HTTP/1.1\r\nHost: {served.url.authority}\r\nCookie: {cookie}\r\n"
        f"Origin: {served.url.origin()}\r\nContent-Type: application/json\r\n"
        "Content-Length: 10\r\n\r\n{"
    )
    writer.write(head.encode())
    async with asyncio.timeout(60):
        assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
    writer.close()


def test_handler_has_to_say_what_it_does() -> None:
    async def silent(call: object) -> None: ...

    with pytest.raises(TypeError, match="says nothing of itself"):
        made("GET", "/api/silent", silent, scope="read")
