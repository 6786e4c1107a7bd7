"""OpenAI's responses, as they stream back."""

from collections.abc import Iterator
from typing import NoReturn

import msgspec

from roost.core.errors import ContentRefused, ReplyMalformed, StreamCut
from roost.core.events import ToolCallDelta
from roost.core.usage import Usage
from roost.llm.answer import Answer
from roost.llm.base import Finished, StreamEvent
from roost.llm.failures import UNREADABLE, ErrorBody, failure_in_stream


class _Words(msgspec.Struct):
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    encrypted_content: str | None = None
    content: list[_Words] | None = None
    summary: list[_Words] | None = None


class _InputDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    usage: _Usage | None = None
    error: ErrorBody | None = None
    incomplete_details: _Incomplete | None = None


class _Whole(_Response):
    output: list[_Item] = []


class _Kept(msgspec.Struct):
    """Items with all that is in them, for those that go back."""

    item: dict[str, object] | None = None
    output: list[dict[str, object]] = []


class _Event(msgspec.Struct):
    type: str = ""
    output_index: int = 0
    delta: str | dict[str, object] | None = None
    item: _Item | None = None
    response: _Response | None = None
    error: ErrorBody | str | None = None
    message: str | None = None
    code: str | int | None = None
    object: str = ""


_decode = msgspec.json.Decoder(_Event).decode
_decode_whole = msgspec.json.Decoder(_Whole).decode
_decode_kept = msgspec.json.Decoder(_Kept).decode


class ResponsesDecoder:
    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._model = model
        self._answer = Answer(provider, model)
        self._refusal = ""
        self.over = False
        self._cut_short: str | None = None
        self._usage: Usage | None = None

    def feed(self, event: str, data: bytes) -> Iterator[StreamEvent]:
        if data == b"[DONE]":
            return
        try:
            yield from self._event(_decode(data), data)
        except UNREADABLE as error:
            raise ReplyMalformed(str(error), provider=self._provider) from error

    def _event(self, said: _Event, data: bytes) -> Iterator[StreamEvent]:
        delta = said.delta if isinstance(said.delta, str) else ""
        match said.type:
            case "response.output_text.delta" if delta:
                yield self._answer.say(delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" if delta:
                yield self._answer.think(delta)
            case "response.function_call_arguments.delta" if delta:
                yield self._answer.extend(said.output_index, delta)
            case "response.output_item.added" if said.item and said.item.type == "function_call":
                yield self._call(said.output_index, said.item)
            case "response.output_item.done" if said.item and said.item.type == "reasoning":
                self._keep(said.item, _decode_kept(data).item)
            case "response.refusal.delta":
                self._refusal += delta
            case "response.completed" | "response.incomplete":
                self._end(said.response or _Response())
            case "response.failed" | "error":
                self._fail(said)
            case "" if said.error is not None:
                self._fail(said)
            case "" if said.object == "response":
                yield from self._whole(data)
            case _:
                pass

    def _call(self, index: int, item: _Item) -> ToolCallDelta:
        return self._answer.call(index, item.name, item.call_id or item.id, item.arguments or "")

    def _keep(self, item: _Item, whole: dict[str, object] | None) -> None:
        """The item as it is: that is how its maker wants it back."""
        if item.encrypted_content:
            self._answer.keep(msgspec.json.encode(whole).decode())

    def _fail(self, said: _Event) -> NoReturn:
        inner = said.response.error if said.response else None
        given = ErrorBody(message=said.message, code=said.code)
        raise failure_in_stream(inner or said.error or given, self._provider, self._model)

    def _whole(self, data: bytes) -> Iterator[StreamEvent]:
        """From a server that was asked to stream and did not."""
        response = _decode_whole(data)
        kept = _decode_kept(data).output
        for index, (item, whole) in enumerate(zip(response.output, kept, strict=True)):
            for thought in item.summary or ():
                yield self._answer.think(thought.text or "")
            for said in item.content or ():
                self._refusal += said.refusal or ""
                if said.text and item.type == "message":
                    yield self._answer.say(said.text)
            if item.type == "function_call":
                yield self._call(index, item)
            self._keep(item, whole)
        self._end(response)

    def _end(self, response: _Response) -> None:
        self.over = True
        if response.incomplete_details is not None:
            self._cut_short = response.incomplete_details.reason
        if response.usage is not None:
            self._usage = _usage(response.usage, self._provider, self._model)

    def end(self) -> Finished:
        if self._refusal or self._cut_short == "content_filter":
            detail = self._refusal or "stopped by its content filter"
            raise ContentRefused(detail, provider=self._provider, model=self._model)
        if not self.over:
            raise StreamCut("it stopped in the middle", provider=self._provider)
        return self._answer.finish("length" if self._cut_short else "stop", self._usage)


def _usage(usage: _Usage, provider: str, model: str) -> Usage:
    given = usage.input_tokens_details or _InputDetails()
    made = usage.output_tokens_details or _OutputDetails()
    return Usage(
        provider,
        model,
        input_tokens=usage.input_tokens or 0,
        cached_tokens=given.cached_tokens or 0,
        cache_write_tokens=given.cache_write_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        reasoning_tokens=made.reasoning_tokens or 0,
    )
