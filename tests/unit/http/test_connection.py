"""Connections of clients that mean no good."""

import asyncio

import pytest

from roost.http import connection
from tests.unit.http.served import Served

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


async def opened(served: Served) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    assert served.url.port is not None
    return await asyncio.open_connection("127.0.0.1", served.url.port)


async def rest(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(60):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


@pytest.mark.parametrize("sent", [b"", REQUEST, b"GET /"])
async def test_who_does_not_say_what_they_want_is_hung_up_on(
    served: Served, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.05)
    reader, writer = await opened(served)
    writer.write(sent)
    assert await rest(reader) == b""
    writer.close()


async def test_who_says_too_much_is_hung_up_on(served: Served) -> None:
    reader, writer = await opened(served)
    writer.write(REQUEST + b"X-More: " + b"x" * (2 * connection.HEAD_BYTES))
    assert await rest(reader) == b""
    writer.close()


async def test_large_body_is_no_large_head(served: Served) -> None:
    reader, writer = await opened(served)
    body = b"x" * (2 * connection.HEAD_BYTES)
    head = b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    writer.write(head + body + REQUEST + b"Connection: close\r\n\r\n")
    answers = await rest(reader)
    assert answers.startswith(b"HTTP/1.1 405 ")
    assert b"HTTP/1.1 200 OK" in answers
    writer.close()


async def test_who_asks_on_without_an_end_is_hung_up_on(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "REST_SECONDS", 3600)
    reader, writer = await opened(served)
    with pytest.raises(ConnectionError):  # noqa: PT012 (some of it may still be sent)
        async with asyncio.timeout(60):
            for _ in range(1000):
                writer.write((REQUEST + b"\r\n") * 1000)
                await writer.drain()
    await rest(reader)
    writer.close()


async def test_next_request_may_come_slowly_behind_an_answer(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "REST_SECONDS", 0)
    reader, writer = await opened(served)
    writer.write(REQUEST + b"\r\n" + IN_PIECES + b"1\r\n{\r\n")
    async with asyncio.timeout(60):
        assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 200 ")
        other, second = await opened(served)
        second.write(REQUEST + b"Connection: close\r\n\r\n")
        assert await rest(other)
        writer.write(b"1\r\n}\r\n0\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")
    second.close()
    writer.close()


IN_PIECES = (
    b"POST /api/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


@pytest.mark.parametrize(
    "sent", [b"2\r\n{}\r\n0\r\nX-More: ", b"2\r\n{}\r\n2;"], ids=["trailer", "extension"]
)
async def test_who_says_too_much_beside_a_body_is_hung_up_on(served: Served, sent: bytes) -> None:
    reader, writer = await opened(served)
    writer.write(IN_PIECES + sent)
    try:
        async with asyncio.timeout(60):
            for _ in range(1000):
                writer.write(b"x" * connection.HEAD_BYTES)
                await writer.drain()
            pytest.fail("nobody hung up")
    except ConnectionError:
        pass
    assert await rest(reader) == b""
    writer.close()


async def test_body_in_small_pieces_is_no_large_head(served: Served) -> None:
    reader, writer = await opened(served)
    writer.write(IN_PIECES + b"2\r\n{}\r\n")
    for _ in range(2 * connection.HEAD_BYTES // 6):
        writer.write(b"1\r\n \r\n")
    await writer.drain()
    writer.write(b"0\r\n\r\n" + REQUEST + b"Connection: close\r\n\r\n")
    answers = await rest(reader)
    assert answers.startswith(b"HTTP/1.1 400 ")
    assert b"HTTP/1.1 200 OK" in answers
    writer.close()


async def test_what_follows_a_body_is_no_header(served: Served) -> None:
    reader, writer = await opened(served)
    writer.write(IN_PIECES + b"2\r\n{}\r\n0\r\nHost: elsewhere\r\n\r\n")
    async with asyncio.timeout(60):
        assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")
    writer.close()


async def test_who_goes_on_after_the_answer_is_hung_up_on_in_the_end(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "REST_SECONDS", 0.05)
    reader, writer = await opened(served)
    writer.write(b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\nx")
    async with asyncio.timeout(60):
        assert (await reader.readline()).startswith(b"HTTP/1.1 405 ")
    await rest(reader)
    assert reader.at_eof() or reader.exception() is not None
    writer.close()
