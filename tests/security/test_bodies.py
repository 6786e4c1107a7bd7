"""Bodies, queries and heads that are too large, too deep, too slow or none of what they claim."""

import socket
import time

import pytest

from roost.http import bodies, connection, files, transfer
from roost.http.endpoint import BODY_LIMIT
from tests.security.house import SECONDS, House
from tests.security.wire import get, status


@pytest.mark.parametrize(
    "path", ["/api/sessions", "/api/sign-in", "/api/settings", "/v1/chat/completions"]
)
def test_body_that_is_too_large_is_refused_at_once(house: House, path: str) -> None:
    method = "PATCH" if path.endswith("settings") else "POST"
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {house.owner.token}"
        f"\r\nContent-Type: application/json\r\nContent-Length: {1 << 40}\r\n"
        "Connection: close\r\n\r\n"
    )
    assert status(house.raw(head.encode())) == 413


def test_body_without_a_length_is_cut_at_the_limit(house: House) -> None:
    head = (
        "POST /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {house.owner.token}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    body = chunk * (BODY_LIMIT // 0x10000 + 2)
    assert status(house.raw(head.encode() + body)) == 413


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000,
        b'{"title":' * 100_000,
        b'{"title":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"unknown":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}",
    ],
    ids=["open lists", "open objects", "deep title", "deep unknown"],
)
@pytest.mark.parametrize("path", ["/api/sessions", "/v1/chat/completions", "/api/import"])
def test_json_too_deep_is_refused(house: House, path: str, body: bytes) -> None:
    headers = [("Content-Type", "application/json")]
    answer = house.ask("POST", path, token=house.owner.token, headers=headers, data=body)
    assert answer.status == 400
    assert len(answer.body) < 1000


@pytest.mark.parametrize(
    "body",
    [
        b'{"title":"a","title":"b"}',
        b'{"title":1e999}',
        b'{"title":NaN}',
        b'{"title":"\xff"}',
        b'{"title":"\\ud800"}',
        b'{"title":"a\\u0000b"}',
        b"\xef\xbb\xbf{}",
        b"{}{}",
        b"null",
        b"",
        "{}".encode("utf-16"),
    ],
)
def test_odd_json_fails_nothing(house: House, body: bytes) -> None:
    headers = [("Content-Type", "application/json")]
    answer = house.ask("POST", "/api/sessions", token=house.bob.token, headers=headers, data=body)
    assert answer.status in (201, 400)


def test_what_is_wrong_is_not_said_back_at_length(house: House) -> None:
    body = {"x" * 500_000: 1}
    for path in ("/api/sessions", "/v1/chat/completions"):
        answer = house.ask("POST", path, body, token=house.owner.token)
        assert answer.status == 400
        assert len(answer.body) < 1000


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "text/json"],
)
def test_body_that_a_form_could_send_is_refused(house: House, kind: str) -> None:
    headers = [("Content-Type", kind), ("Origin", house.origin)]
    answer = house.ask(
        "POST", "/api/sessions", cookie=house.owner.cookie, headers=headers, data=b'{"title":"x"}'
    )
    assert answer.status == 415


def test_compressed_body_is_not_unpacked(house: House) -> None:
    headers = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")]
    answer = house.ask(
        "POST",
        "/api/sessions",
        token=house.bob.token,
        headers=headers,
        data=b"\x1f\x8b" + b"\0" * 99,
    )
    assert answer.status in (400, 415)


@pytest.mark.parametrize(
    "query",
    ["limit=" + "9" * 5000, "words=" + "a" * 60_000, "words=a&" * 5000, "&" * 20_000, "%" * 999],
    ids=["number", "words", "many", "empty", "percents"],
)
def test_huge_query_is_refused(house: House, query: str) -> None:
    answer = house.ask("GET", f"/api/search?{query}", token=house.owner.token)
    assert answer.status == 400
    assert len(answer.body) < 1000


def test_head_that_is_too_large_is_hung_up_on(house: House) -> None:
    answer = house.raw(get("Host: 127.0.0.1", "X: " + "x" * (4 * connection.HEAD_BYTES)))
    assert answer == b"" or status(answer) in (400, 431)


# Slow ones: the limits are lowered for them.


def trickled(house: House, head: bytes) -> bytes:
    """What is answered to a client that says a little more every few milliseconds, for ever."""
    with socket.create_connection(("127.0.0.1", house.port), timeout=SECONDS) as client:
        client.sendall(head)
        client.settimeout(0.01)
        answer, until = b"", time.monotonic() + SECONDS
        while time.monotonic() < until:
            try:
                client.sendall(b"x")
                if not (chunk := client.recv(65536)):
                    return answer
                answer += chunk
            except TimeoutError:
                pass
            except ConnectionError:
                return answer
    raise AssertionError("the server waits for ever")


def test_slow_head_is_hung_up_on(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.1)
    assert trickled(house, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ") == b""


@pytest.mark.parametrize("path", ["/api/sessions", "/v1/chat/completions", "/api/import"])
def test_slow_body_is_hung_up_on(house: House, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(bodies.body_chunks, "__kwdefaults__", {"seconds": 0.1})
    monkeypatch.setattr(transfer, "IMPORT_SECONDS", 0.1)
    monkeypatch.setattr(connection, "REST_SECONDS", 0.1)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {house.owner.token}"
        "\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    )
    answer = trickled(house, head.encode())
    assert answer == b"" or status(answer) == 408


def test_slow_upload_is_hung_up_on_and_leaves_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "UPLOAD_SECONDS", 0.1)
    monkeypatch.setattr(connection, "REST_SECONDS", 0.1)
    head = (
        f"POST /api/files HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "
        f"{house.owner.token}\r\nContent-Length: 100000\r\n\r\n"
    )
    answer = trickled(house, head.encode() + b"y" * 5000)
    assert answer == b"" or status(answer) == 408


def test_many_idle_connections_stop_nobody(house: House) -> None:
    idle = [socket.create_connection(("127.0.0.1", house.port)) for _ in range(200)]
    try:
        for each in idle:
            each.sendall(b"GET / HTTP/1.1\r\n")
        assert house.ask("GET", "/healthz").status == 200
    finally:
        for each in idle:
            each.close()
