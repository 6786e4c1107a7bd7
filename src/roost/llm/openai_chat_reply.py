"""OpenAI's chat completions, as everybody who is nearly compatible answers in it."""

from collections.abc import Iterator

import msgspec

from roost.core.errors import ContentRefused, ReplyMalformed, StreamCut
from roost.core.usage import Usage
from roost.llm.answer import Answer
from roost.llm.base import Finished, StreamEvent
from roost.llm.failures import UNREADABLE, ErrorBody, failure_in_stream

Json = dict[str, object]


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | Json | None = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Piece(msgspec.Struct):
    """Content in pieces, as Mistral's thinking models stream it."""

    type: str = ""
    text: str = ""
    thinking: "list[_Piece] | str | None" = None


class _Delta(msgspec.Struct):
    content: str | list[_Piece] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Json] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _CompletionDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None
    prompt_cache_hit_tokens: int | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: ErrorBody | str | None = None


_decode = msgspec.json.Decoder(_Chunk).decode
_BLOCK = ("type", "index")
_GROWING = ("text", "summary", "data")


class ChatDecoder:
    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._model = model
        self._answer = Answer(provider, model)
        self._calls: list[tuple[int | None, str | None]] = []
        self._details: list[Json] = []
        self._refusal = ""
        self._finish: str | None = None
        self.over = False
        self._usage: Usage | None = None

    def feed(self, event: str, data: bytes) -> Iterator[StreamEvent]:
        if data == b"[DONE]":
            self.over = True
            return
        try:
            chunk = _decode(data)
        except UNREADABLE as error:
            raise ReplyMalformed(str(error), provider=self._provider) from error
        if chunk.error is not None:
            raise failure_in_stream(chunk.error, self._provider, self._model)
        if chunk.usage is not None:
            self._usage = _usage(chunk.usage, self._provider, self._model)
        for choice in chunk.choices or ():
            delta = choice.delta or choice.message
            if delta is not None:
                yield from self._delta(delta)
            self._finish = choice.finish_reason or self._finish

    def _delta(self, delta: _Delta) -> Iterator[StreamEvent]:
        answer = self._answer
        if thought := delta.reasoning_content or delta.reasoning:
            yield answer.think(thought)
        for detail in delta.reasoning_details or ():
            self._keep(detail)
        if isinstance(delta.content, str):
            if delta.content:
                yield answer.say(delta.content)
        elif delta.content:
            yield from self._pieces(delta.content)
        if delta.refusal:
            self._refusal += delta.refusal
        for call in delta.tool_calls or ():
            yield from self._call(call)

    def _keep(self, detail: Json) -> None:
        """Join the pieces of one block of reasoning; the vendor wants whole blocks back."""
        last = self._details[-1] if self._details else None
        if last is None or [last.get(k) for k in _BLOCK] != [detail.get(k) for k in _BLOCK]:
            self._details.append(detail)
            return
        for name, value in detail.items():
            before = last.get(name)
            if name in _GROWING and isinstance(before, str) and isinstance(value, str):
                last[name] = before + value
            elif value is not None:
                last[name] = value

    def _pieces(self, pieces: list[_Piece]) -> Iterator[StreamEvent]:
        for piece in pieces:
            thought = piece.thinking
            if isinstance(thought, list):
                thought = "".join([inner.text for inner in thought])
            if thought:
                yield self._answer.think(thought)
            if piece.text:
                yield self._answer.say(piece.text)

    def _call(self, call: _Call) -> Iterator[StreamEvent]:
        """Some servers leave out the index, some give all calls the same one, some repeat the id
        with each piece: a call is new if its index is, or if it brings an id of its own."""
        answer = self._answer
        function = call.function or _Function()
        arguments = function.arguments or ""
        if not isinstance(arguments, str):
            arguments = msgspec.json.encode(arguments).decode()
        key = self._key(call, function)
        if key is not None:
            if arguments:
                yield answer.extend(key, arguments)
            return
        self._calls.append((call.index, call.id))
        yield answer.call(len(self._calls) - 1, function.name, call.id, arguments)

    def _key(self, call: _Call, function: _Function) -> int | None:
        """Which of the calls so far this piece belongs to; None if it begins another."""
        for key in range(len(self._calls) - 1, -1, -1):
            index, id = self._calls[key]
            if call.id and id:
                if call.id == id:
                    return key
            elif call.index is not None:
                if call.index == index and not (function.name and not call.id and not id):
                    return key
            elif not function.name:
                return key
        return None

    def end(self) -> Finished:
        if self._refusal:
            raise self._refused(self._refusal)
        if self._finish == "content_filter":
            raise self._refused("stopped by its content filter")
        if self._finish is None and not (self.over and not self._answer.empty):
            raise StreamCut("it stopped in the middle", provider=self._provider)
        self._answer.own(msgspec.json.encode(self._details).decode() if self._details else "")
        reason = "length" if self._finish == "length" else "stop"
        return self._answer.finish(reason, self._usage)

    def _refused(self, detail: str) -> ContentRefused:
        return ContentRefused(detail, provider=self._provider, model=self._model)


def _usage(usage: _Usage, provider: str, model: str) -> Usage:
    prompt = usage.prompt_tokens_details or _PromptDetails()
    completion = usage.completion_tokens_details or _CompletionDetails()
    return Usage(
        provider,
        model,
        input_tokens=usage.prompt_tokens or 0,
        cached_tokens=prompt.cached_tokens or usage.prompt_cache_hit_tokens or 0,
        cache_write_tokens=prompt.cache_write_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        reasoning_tokens=completion.reasoning_tokens or 0,
    )
