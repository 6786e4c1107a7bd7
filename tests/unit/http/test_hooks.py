"""What messaging platforms call is handed to their channel as it came."""

import asyncio
from collections.abc import AsyncGenerator

import aiohttp
import pytest
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roost.core.inbound import HookCall, HookReply
from roost.http.hooks import LARGE_AT_ONCE, SMALL, hook_routes
from roost.http.problems import HANDLERS
from tests.unit.http.serving import served_at


class Channels:
    """One channel, which keeps what it gets."""

    def __init__(self) -> None:
        self.calls: list[HookCall] = []
        self.answer = HookReply(202, b'{"id": 1}', "application/json")

    async def receive(self, name: str, call: HookCall) -> HookReply | None:
        if name != "desk":
            return None
        self.calls.append(call)
        return self.answer

    def web(self) -> Starlette:
        return Starlette(routes=hook_routes(self.receive), exception_handlers=HANDLERS)


async def test_a_call_arrives_as_it_was_signed_and_gets_the_channels_answer() -> None:
    channels = Channels()
    async with served_at(channels.web()) as url, aiohttp.ClientSession() as session:
        posted = session.post(
            f"{url}/hooks/desk?a=1&b=%20", data=b"\xff\x00 body", headers={"X-Signature": "S"}
        )
        async with posted as answer:
            assert (answer.status, await answer.json()) == (202, {"id": 1})
            assert answer.headers["Cache-Control"] == "no-store"
    (call,) = channels.calls
    assert (call.method, call.query, call.body) == ("POST", "a=1&b=%20", b"\xff\x00 body")
    assert call.headers["x-signature"] == "S"


async def test_whoever_cant_sign_does_not_learn_which_channels_there_are() -> None:
    channels = Channels()
    channels.answer = HookReply(401, b"The signature is wrong.")
    async with served_at(channels.web()) as url, aiohttp.ClientSession() as session:
        answers: list[tuple[int, bytes]] = []
        for name in ("desk", "other"):
            async with session.post(f"{url}/hooks/{name}") as answer:
                answers.append((answer.status, await answer.read()))
    assert answers[0] == answers[1]
    assert answers[0][0] == 401


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE"])
async def test_only_what_platforms_use_is_taken(method: str) -> None:
    channels = Channels()
    async with (
        served_at(channels.web()) as url,
        aiohttp.ClientSession() as session,
        session.request(method, f"{url}/hooks/desk") as answer,
    ):
        assert answer.status == 405
    assert not channels.calls


class Counting:
    """How many requests have had their bodies read, at least in part."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.reading = 0
        self.changed = asyncio.Condition()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = False

        async def counted() -> Message:
            nonlocal began
            message = await receive()
            async with self.changed:
                self.reading, began = self.reading + (not began), True
                self.changed.notify_all()
            return message

        await self._app(scope, counted, send)


async def test_few_large_bodies_are_read_at_a_time_and_small_ones_pass_them() -> None:
    channels, end = Channels(), asyncio.Event()
    counting = Counting(channels.web())
    large = b"x" * (SMALL + 1)

    async def slowly() -> AsyncGenerator[bytes]:
        yield large
        await end.wait()

    async def post(body: AsyncGenerator[bytes] | bytes) -> int:
        async with session.post(f"{url}/hooks/desk", data=body) as answer:
            return answer.status

    async with served_at(counting) as url, aiohttp.ClientSession() as session:
        async with asyncio.TaskGroup() as group:
            slow = [group.create_task(post(slowly())) for _ in range(LARGE_AT_ONCE)]
            async with counting.changed:
                await counting.changed.wait_for(lambda: counting.reading == LARGE_AT_ONCE)
            waits = group.create_task(post(large))
            assert await post(b"x") == 202
            assert counting.reading == LARGE_AT_ONCE + 1
            end.set()
        assert [each.result() for each in (*slow, waits)] == [202] * (LARGE_AT_ONCE + 1)
