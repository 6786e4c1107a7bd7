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
    async with asyncio.timeout(10):
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


async def test_who_goes_on_after_the_answer_is_hung_up_on_in_the_end(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "REST_SECONDS", 0.05)
    reader, writer = await opened(served)
    writer.write(b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\nx")
    async with asyncio.timeout(10):
        assert (await reader.readline()).startswith(b"HTTP/1.1 405 ")
    await rest(reader)
    assert reader.at_eof() or reader.exception() is not None
    writer.close()
