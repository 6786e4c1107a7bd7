"""Requests that are not what they seem: their names, headers and methods."""

import pytest

from roost.core.config import ServerConfig
from roost.core.settings import HostName, NetworkName
from tests.security.house import House, opened
from tests.security.wire import get, status

ME = "/api/me"


# Where a request was sent to.

FOREIGN = [
    "evil.example",
    "evil.example:80",
    "127.0.0.1.evil.example",
    "evil.example#127.0.0.1",
    "127.0.0.1@evil.example",
    "evil.example:80@127.0.0.1:x",
    "127.0.0.1:80:80",
    "127.0.0.1:80x",
    "127.0.0.1,evil.example",
    "127.0.0.1 evil.example",
    "localhost.",
    "localhost.evil.example",
    "xn--localhost-",
    "0.0.0.0",  # noqa: S104
    "127.1",
    "2130706433",
    "0x7f000001",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::1",
    "[::1].evil.example",
    "",
    ":80",
    "roost",
]


@pytest.mark.parametrize("host", FOREIGN)
def test_foreign_host_is_refused(house: House, host: str) -> None:
    assert status(house.raw(get(f"Host: {host}"))) in (400, 421)


@pytest.mark.parametrize("host", ["127.0.0.1", "LocalHost", "localhost:1", "[::1]:7667"])
def test_own_names_are_answered_whatever_the_port(house: House, host: str) -> None:
    assert status(house.raw(get(f"Host: {host}"))) == 200


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("Host: 127.0.0.1", "Host: evil.example"),
        ("Host: evil.example", "Host: 127.0.0.1"),
        ("Host: 127.0.0.1", "Host: 127.0.0.1"),
        ("Host: evil.example", "X-Forwarded-Host: 127.0.0.1"),
        ("Host: evil.example", "Forwarded: host=127.0.0.1"),
        ("Host: evil.example", "X-Host: 127.0.0.1", "X-Original-Host: 127.0.0.1"),
    ],
    ids=["none", "two", "two reversed", "twice", "forwarded", "forwarded rfc", "others"],
)
def test_host_is_one_and_the_clients_own(house: House, lines: tuple[str, ...]) -> None:
    assert status(house.raw(get(*lines))) in (400, 421)


def test_address_in_the_first_line_is_not_where_it_was_sent(house: House) -> None:
    answer = house.raw(get("Host: evil.example", target="http://127.0.0.1/healthz"))
    assert status(answer) in (400, 404, 421)


def test_forwarded_headers_of_strangers_change_nothing(house: House) -> None:
    headers = [
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-For", "10.0.0.1"),
        ("Origin", "https://evil.example"),
    ]
    answer = house.ask("POST", "/api/sessions", {}, cookie=house.owner.cookie, headers=headers)
    assert answer.status == 403


# Headers.


@pytest.mark.parametrize(
    "lines",
    [
        ("Authorization: Bearer {bob}", "Authorization: Bearer {owner}"),
        ("Authorization: Bearer {bob}, Bearer {owner}",),
        ("Cookie: roost={bob_cookie}; roost={owner_cookie}",),
        ("Cookie: roost={bob_cookie}", "Cookie: roost={owner_cookie}"),
    ],
    ids=["two tokens", "tokens in a list", "two cookies", "two lines of cookies"],
)
def test_two_credentials_are_never_the_owners_to_bob(house: House, lines: tuple[str, ...]) -> None:
    """Whichever counts: a cookie that someone planted before or after may not win over ours and
    then act for another."""
    filled = [
        line.format(
            bob=house.bob.token,
            owner="roost_" + "0" * 26 + "_" + "0" * 52,
            bob_cookie=house.bob.cookie,
            owner_cookie="A" * 43,
        )
        for line in lines
    ]
    answer = house.raw(get("Host: 127.0.0.1", *filled, target=ME))
    assert status(answer) in (200, 400, 401)
    assert house.owner.id.encode() not in answer


@pytest.mark.parametrize(
    "header",
    ["X-User: {owner}", "X-Roost-User: {owner}", "X-Remote-User: owner", "Remote-User: owner"],
)
def test_header_makes_nobody_someone_else(house: House, header: str) -> None:
    lines = ("Host: 127.0.0.1", f"Authorization: Bearer {house.bob.token}")
    answer = house.raw(get(*lines, header.format(owner=house.owner.id), target=ME))
    assert house.bob.id.encode() in answer
    assert house.owner.id.encode() not in answer


INJECTED = "X-Injected"


@pytest.mark.parametrize(
    "name",
    [
        "a%0D%0AX-Injected: 1",
        "a%0AX-Injected: 1",
        "a%0DX-Injected:%201",
        "a%E5%98%8A%E5%98%8DX-Injected: 1",
        'a";%20filename="evil.html',
        "a%00b",
        "%E2%80%AEgnp.exe",
    ],
)
def test_name_of_a_download_can_not_get_out_of_its_header(house: House, name: str) -> None:
    target = f"/api/files/{house.ids['file']}/content?name={name.replace(' ', '%20')}"
    answer = house.ask("GET", target, token=house.owner.token)
    assert answer.status in (200, 400)
    assert INJECTED.lower() not in answer.headers
    disposition = answer.headers.get("content-disposition", "inline")
    assert disposition.count(";") <= 1
    assert '"' not in disposition


@pytest.mark.parametrize("path", ["/a%0d%0aX-Injected:1", "/%0aX-Injected:1", "//evil.example/"])
def test_path_can_not_get_into_headers(house: House, path: str) -> None:
    answer = house.ask("GET", path)
    assert answer.status == 404
    assert INJECTED.lower() not in answer.headers
    assert "location" not in answer.headers


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\r\n b\r\nConnection: close\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX : a\r\nConnection: close\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\0b\r\nConnection: close\r\n\r\n",
        b"GET /healthz HTTP/1.1\nHost: 127.0.0.1\nConnection: close\n\n",
        b"GET  /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64 + b"\r\n\r\n",
    ],
    ids=["folded", "space", "nul", "bare lf", "two spaces", "version", "http 0.9", "tls"],
)
def test_odd_syntax_fails_nothing(house: House, request_: bytes) -> None:
    answer = house.raw(request_)
    assert b" 500 " not in answer.split(b"\r\n", 1)[0]
    assert house.ask("GET", "/healthz").status == 200


SMUGGLED = b"GET /api/me HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.parametrize(
    "lines",
    [
        "Content-Length: 4\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 4",
        "Content-Length: 4\r\nContent-Length: 40",
        "Content-Length: +4",
        "Content-Length: 0x4",
        "Content-Length: -1",
        "Content-Length: 4 4",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding:\tchunked\r\nTransfer-Encoding: identity",
    ],
)
def test_length_that_can_be_read_in_two_ways_is_refused(house: House, lines: str) -> None:
    """What two servers read differently lets one request hide another."""
    head = f"POST /api/sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\n\r\n".encode()
    answer = house.raw(head + b"0\r\n\r\n" + SMUGGLED)
    assert answer == b"" or status(answer) in (400, 415, 501)
    assert answer.count(b"HTTP/1.1 ") <= 1


# Methods.


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "TRACK", "PROPFIND", "LINK", "get", "GETX"])
@pytest.mark.parametrize("path", ["/", ME, "/api/sessions"])
def test_other_methods_are_refused(house: House, method: str, path: str) -> None:
    answer = house.raw(
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: roost={house.owner.cookie}\r\n"
        "Connection: close\r\n\r\n".encode()
    )
    assert answer == b"" or status(answer) in (400, 405, 501)
    assert house.owner.cookie.encode() not in answer


def test_options_allows_no_other_origin(house: House) -> None:
    headers = [
        ("Origin", "https://evil.example"),
        ("Access-Control-Request-Method", "DELETE"),
        ("Access-Control-Request-Headers", "authorization"),
    ]
    for path in (ME, "/api/sessions", "/v1/chat/completions"):
        answer = house.ask("OPTIONS", path, headers=headers)
        assert answer.status == 405
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_answers_to_other_origins_are_not_readable(house: House) -> None:
    headers = [("Origin", "https://evil.example")]
    answer = house.ask("GET", ME, cookie=house.owner.cookie, headers=headers)
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_head_says_what_get_would_without_a_body(house: House) -> None:
    assert house.ask("HEAD", ME).status == 401
    answer = house.ask("HEAD", ME, token=house.owner.token)
    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize(
    "header",
    ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"],
)
def test_method_can_not_be_overridden(house: House, header: str) -> None:
    before = house.state()
    path = f"/api/sessions/{house.ids['session']}"
    answer = house.ask("GET", path, token=house.owner.reader, headers=[(header, "DELETE")])
    assert answer.status == 200
    answer = house.ask("GET", f"{path}?_method=DELETE", token=house.owner.token)
    assert answer.status == 400
    assert house.state() == before


# Proxies.


def test_host_from_our_own_proxy_has_to_be_ours_too(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    server = ServerConfig(names=(HostName("roost.example"),), proxies=(NetworkName("127.0.0.1"),))
    with opened(tmp_path_factory.mktemp("proxied") / "data", server=server) as house:
        for host, expected in (("roost.example", 200), ("evil.example", 421)):
            answer = house.ask("GET", "/healthz", headers=[("X-Forwarded-Host", host)])
            assert answer.status == expected
