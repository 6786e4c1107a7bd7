"""What a test can plan, see and wait for."""

import asyncio

import aiohttp
import openai
import pytest

from roost.testing.models import ModelRequest, ModelServer, Reply, say, stall
from tests.unit.testing.models.listening import Clients

DEADLINE = 60


async def test_request_is_kept_byte_for_byte(server: ModelServer) -> None:
    body = b'{ "messages":[{"content":"h\\u00ef","role":"user"}],\n"model":"m" }'
    url = f"{server.openai_url}/chat/completions?a=1"
    async with (
        aiohttp.ClientSession(headers={"X-Odd": "Value"}) as session,
        session.post(url, data=body) as response,
    ):
        assert response.status == 200
    (request,) = server.requests
    assert request.body == body
    assert request.path == "/v1/chat/completions?a=1"
    assert request.headers["x-odd"] == "Value"
    assert (request.protocol, request.model, request.stream) == ("chat", "m", False)
    assert request.last_text == "hï"
    assert await request.closed() is False


async def test_plan_goes_by_request_and_then_by_echo(server: ModelServer, clients: Clients) -> None:
    server.plan(say("one"), lambda request: say(f"two: {request.last_text}"))
    said = [(await clients.ask("chat", text)).text for text in ("a", "b", "c")]
    assert said == ["one", "two: b", "c"]


async def test_plan_of_a_model_is_its_own(server: ModelServer, clients: Clients) -> None:
    server.plan(say("for anybody"))
    server.plan(say("for m"), model="m")
    assert server.unplayed == 2
    assert (await clients.ask("chat")).text == "for m"
    assert (await clients.ask("chat")).text == "for anybody"
    assert server.unplayed == 0


async def test_function_can_answer_everything(server: ModelServer, clients: Clients) -> None:
    def shout(request: ModelRequest) -> Reply:
        return say(request.last_text.upper())

    server.otherwise(shout)
    assert (await clients.ask("anthropic", "quiet")).text == "QUIET"
    assert (await clients.ask("responses", "still")).text == "STILL"


async def test_client_that_leaves_is_noticed(server: ModelServer, clients: Clients) -> None:
    server.plan(say("one two") + stall() + say(" three"))
    async with asyncio.timeout(DEADLINE):
        asking = asyncio.create_task(clients.ask("chat"))
        request = await server.request(0)
        await request.stalled()
        asking.cancel()
        assert await request.closed() is True
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_client_that_leaves_before_the_first_byte_is_noticed(
    server: ModelServer, clients: Clients
) -> None:
    server.plan(stall())
    async with asyncio.timeout(DEADLINE):
        asking = asyncio.create_task(clients.ask("responses"))
        request = await server.request(0)
        await request.stalled()
        asking.cancel()
        assert await request.closed() is True


async def test_client_that_leaves_a_paced_stream_is_noticed(
    server: ModelServer, clients: Clients
) -> None:
    server.plan(say("word " * 10_000, pace=0.01))
    async with asyncio.timeout(DEADLINE):
        chunks = await clients.openai.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        await anext(aiter(chunks))
        await chunks.close()
        assert await server.requests[0].closed() is True


async def test_stalled_reply_goes_on_when_released(server: ModelServer, clients: Clients) -> None:
    server.plan(stall() + say("one") + stall() + say(" two"))
    async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(clients.ask("chat"))
        request = await server.request(0)
        await request.stalled()
        request.release()
        await request.stalled()
        assert not asking.done()
        server.release()
    assert asking.result().text == "one two"


async def test_release_may_come_before_the_stall(server: ModelServer, clients: Clients) -> None:
    def let_go(request: ModelRequest) -> Reply:
        request.release()
        return stall() + say("on")

    server.plan(let_go)
    async with asyncio.timeout(DEADLINE):
        assert (await clients.ask("anthropic", stream=False)).text == "on"


async def test_stalled_replies_do_not_hold_up_the_end() -> None:
    async with asyncio.timeout(DEADLINE), aiohttp.ClientSession() as session:
        async with ModelServer(otherwise=stall()) as server:
            body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            asking = asyncio.create_task(
                session.post(f"{server.openai_url}/chat/completions", json=body)
            )
            await (await server.request(0)).stalled()
        with pytest.raises(aiohttp.ClientError):
            await asking
    assert server.requests[0].left is False


async def test_pace_is_kept(server: ModelServer, clients: Clients) -> None:
    loop = asyncio.get_running_loop()
    server.plan(say("a b c d e", pace=0.02))
    started = loop.time()
    await clients.ask("chat")
    assert loop.time() - started >= 0.1


async def test_many_streams_at_once(server: ModelServer, clients: Clients) -> None:
    server.otherwise(say("one two three", pace=0.01))
    heard = await asyncio.gather(*[clients.ask("chat") for _ in range(50)])
    assert {each.text for each in heard} == {"one two three"}


async def test_models_are_listed_for_both_vendors(server: ModelServer, clients: Clients) -> None:
    assert [model.id async for model in clients.openai.models.list()] == ["scripted"]
    assert [model.id async for model in clients.anthropic.models.list()] == ["scripted"]


async def test_only_listed_models_answer() -> None:
    models = {"small": {"context_length": 8192}, "large": {}}
    async with ModelServer(models=models) as server:
        clients = Clients(server)
        async with clients.openai, clients.anthropic:
            listed = [model async for model in clients.openai.models.list()]
            assert [model.id for model in listed] == ["small", "large"]
            assert listed[0].model_extra == {"context_length": 8192}
            with pytest.raises(openai.NotFoundError):
                await clients.ask("chat")


async def test_prompt_over_the_context_is_refused() -> None:
    async with ModelServer(context=100) as server:
        clients = Clients(server)
        async with clients.openai, clients.anthropic:
            assert (await clients.ask("chat", "short")).text == "short"
            with pytest.raises(openai.BadRequestError) as caught:
                await clients.ask("chat", "long " * 100)
            assert caught.value.code == "context_length_exceeded"
