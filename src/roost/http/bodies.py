"""The body of a request: read as it comes, if it is neither too large nor too slow."""

import asyncio
from collections.abc import AsyncGenerator
from http import HTTPStatus

from starlette.requests import ClientDisconnect, Request

from roost.http.problems import ProblemError

BODY_SECONDS = 30.0


async def read_body(request: Request, limit: int) -> bytes:
    """All of it, if it is neither too large nor too slow."""
    return b"".join([chunk async for chunk in body_chunks(request, limit)])


async def body_chunks(
    request: Request, limit: int, *, seconds: float = BODY_SECONDS
) -> AsyncGenerator[bytes]:
    """The body as it comes, up to `limit` bytes, `seconds` in all."""
    declared = request.headers.get("content-length", "0")
    if declared.isascii() and declared.isdigit() and int(declared) > limit:
        raise too_large(limit)
    size = 0
    until = asyncio.get_running_loop().time() + seconds
    chunks = request.stream()
    try:
        while True:
            async with asyncio.timeout_at(until):
                chunk = await anext(chunks)
            size += len(chunk)
            if size > limit:
                raise too_large(limit)
            yield chunk
    except StopAsyncIteration:
        return
    except TimeoutError:
        said = "The body took too long to arrive."
        raise ProblemError(HTTPStatus.REQUEST_TIMEOUT, said) from None
    except ClientDisconnect:
        raise ProblemError(HTTPStatus.BAD_REQUEST, "The body broke off.") from None


def too_large(limit: int) -> ProblemError:
    said = f"The body is larger than {limit} bytes."
    return ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, said)
