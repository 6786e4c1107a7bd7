"""The part of OpenAI's API that its clients need to talk to the agent: models, chat completions."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Annotated

import msgspec
from starlette.responses import Response
from starlette.types import Receive

from roost.core.errors import ConfigError, InvalidInput, NotFound, NotSignedIn
from roost.http.calls import Call
from roost.http.endpoint import Header, endpoint
from roost.http.openai_answer import (
    DONE,
    AnswerMessage,
    Choice,
    Chunk,
    ChunkChoice,
    Completion,
    DeltaView,
    FinishReason,
    ModelList,
    ModelView,
    UsageView,
    data,
    usage_view,
)
from roost.http.openai_errors import NO_RETRY, ErrorView, OpenAIError
from roost.http.openai_exchange import DEFAULTS, Exchange
from roost.http.openai_request import ChatRequest
from roost.http.openai_turn import Followed
from roost.http.stream import MEDIA_TYPE, EventStream, Reason
from roost.http.turns import check_key
from roost.runtime.completions import Completions

SESSION = "X-Roost-Session"
BODY_LIMIT = 32 << 20
"""Pictures come inside the body."""

_encode = msgspec.json.Encoder().encode


class CompletionStream(EventStream[bytes]):
    """Nothing but what OpenAI's clients expect: chunks, and comments while there are none."""

    opening = b""

    def farewell(self, reason: Reason) -> bytes:
        said = _ENDS.get(reason)
        return b"" if said is None else data(said.view)


def _end(said: str, code: str) -> OpenAIError:
    return OpenAIError(HTTPStatus.SERVICE_UNAVAILABLE, said, code=code)


_ENDS = {
    "stops": _end("Roost stops. The turn goes on in its session when Roost is back.", "stops"),
    "failure": _end("Roost failed here. Its log says why.", "failure"),
    "signed_out": _end("The key does not hold any more.", "invalid_api_key"),
}


class Writing:
    """An answer's fields that every chunk repeats."""

    def __init__(self, exchange: Exchange, followed: Followed) -> None:
        self._exchange = exchange
        self._followed = followed
        turn = followed.turn
        self._id = f"chatcmpl-{turn.id}"
        self._created = turn.created_at // 1000
        self._wants_usage = exchange.body.wants_usage

    async def whole(self) -> Completion:
        async for _ in self._followed:
            pass
        message = AnswerMessage(str(self._followed.words))
        return Completion(
            id=self._id,
            created=self._created,
            model=self._exchange.body.model,
            choices=(Choice(message, self._reason()),),
            usage=await self._usage(),
        )

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._chunk(ChunkChoice(DeltaView("", "assistant")))
        try:
            async for text in self._followed:
                yield self._chunk(ChunkChoice(DeltaView(text)))
        except OpenAIError as error:
            yield data(error.view)
            return
        yield self._chunk(ChunkChoice(DeltaView(), self._reason()))
        if self._wants_usage:
            yield self._chunk(usage=await self._usage())
        yield DONE

    def _chunk(self, *choices: ChunkChoice, usage: UsageView | None = None) -> bytes:
        return data(
            Chunk(
                id=self._id,
                created=self._created,
                model=self._exchange.body.model,
                choices=choices,
                usage=usage if self._wants_usage else msgspec.UNSET,
            )
        )

    def _reason(self) -> FinishReason:
        return "length" if (self._followed.turn.reason or "").startswith("length:") else "stop"

    async def _usage(self) -> UsageView:
        return usage_view(await self._exchange.completions.used(self._followed.turn.id))


async def completed(
    call: Call,
    body: ChatRequest,
    session: Annotated[str | None, Header(SESSION)],
    key: Annotated[str | None, Header("Idempotency-Key")],
) -> Completion | Response:
    """Have the agent answer a conversation, as OpenAI's clients ask for it.

    `X-Roost-Session` names a session that goes on: of the request it takes what the user says after
    the last answer. `new` opens one; the answer names it. Without the header the request is a
    session of its own, which ends with it.
    """
    check_key(key)
    call.check_model(body.model)
    exchange = Exchange(call, body, session, key)
    await exchange.prepare()
    if body.stream:
        return _streamed(call, exchange)
    return await _whole(call, exchange)


def _streamed(call: Call, exchange: Exchange) -> CompletionStream:
    @asynccontextmanager
    async def source() -> AsyncGenerator[AsyncIterator[bytes]]:
        async with exchange.followed() as followed:
            yield Writing(exchange, followed).chunks()

    callers = call.callers
    stream = CompletionStream(
        source(),
        bytes,
        stop=callers.stop,
        holds=call.holds,
        changed=call.changed,
        heartbeat=callers.heartbeat,
    )
    stream.more_headers = [(SESSION.lower().encode(), exchange.session.encode())]
    return stream


async def _whole(call: Call, exchange: Exchange) -> Response:
    async with exchange.followed() as followed:
        answer = await _unless_over(call, Writing(exchange, followed))
    headers = {SESSION: exchange.session}
    return Response(_encode(answer), headers=headers, media_type="application/json")


async def _unless_over(call: Call, writing: Writing) -> Completion:
    """The whole answer, unless who asked hangs up or is shut out before, or the server stops."""
    answering = asyncio.create_task(writing.whole())
    gone = asyncio.create_task(_disconnected(call.request.receive))
    stops = asyncio.create_task(call.callers.stop.wait())
    refused = asyncio.create_task(call.refused())
    tasks = (answering, gone, stops, refused)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            return answering.result()
        if refused.done():
            raise NotSignedIn
        said = _ENDS["stops"].detail
        raise OpenAIError(
            HTTPStatus.SERVICE_UNAVAILABLE, said, code="interrupted", headers=NO_RETRY
        )
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def models(call: Call) -> ModelList:
    """List the models that can answer; `roost` is whichever does by default."""
    known = Completions(call.callers.app.parts, call.who.user.id).models()
    return ModelList([ModelView("roost", "roost"), *[_model(name) for name in known]])


async def model(call: Call, model: str) -> ModelView:
    """Read what a model's name stands for."""
    if model in DEFAULTS:
        return ModelView(model, "roost")
    try:
        return _model((await call.account.answerer(model)).name)
    except (InvalidInput, ConfigError):
        raise NotFound("model", model[:80]) from None


def _model(name: str) -> ModelView:
    return ModelView(name, name.partition("/")[0])


ENDPOINTS = (
    endpoint("GET", "/v1/models", models, scope="read", wrong=ErrorView),
    endpoint("GET", "/v1/models/{model:path}", model, scope="read", wrong=ErrorView),
    endpoint(
        "POST",
        "/v1/chat/completions",
        completed,
        scope="chat",
        answers=MEDIA_TYPE,
        sends=Chunk,
        limit=BODY_LIMIT,
        wrong=ErrorView,
    ),
)
