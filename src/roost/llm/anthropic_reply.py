"""Anthropic's messages, as they stream back."""

from collections.abc import Iterator

import msgspec

from roost.core.errors import ContentRefused, ContextTooLong, ReplyMalformed, StreamCut
from roost.core.usage import Usage
from roost.llm.answer import Answer
from roost.llm.anthropic import REDACTED
from roost.llm.base import Finished, StreamEvent
from roost.llm.failures import UNREADABLE, ErrorBody, failure_in_stream


class _OutputDetails(msgspec.Struct):
    thinking_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: _OutputDetails | None = None


class _Message(msgspec.Struct):
    usage: _Usage | None = None


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, object] | None = None


class _StopDetails(msgspec.Struct):
    explanation: str | None = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    stop_reason: str | None = None
    stop_details: _StopDetails | None = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: ErrorBody | str | None = None
    content: list[_Block] | None = None
    stop_reason: str | None = None
    stop_details: _StopDetails | None = None


_decode = msgspec.json.Decoder(_Event).decode


class MessagesDecoder:
    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._model = model
        self._answer = Answer(provider, model)
        self._usage = _Usage()
        self._signature = ""
        self._stop: str | None = None
        self._why = "the model declined"
        self.over = False

    def feed(self, event: str, data: bytes) -> Iterator[StreamEvent]:
        try:
            said = _decode(data)
        except UNREADABLE as error:
            raise ReplyMalformed(str(error), provider=self._provider) from error
        match said.type:
            case "content_block_delta" if said.delta is not None:
                yield from self._delta(said.index, said.delta)
            case "content_block_start" if said.content_block is not None:
                yield from self._block(said.index, said.content_block)
            case "content_block_stop":
                self._close()
            case "message_start" if said.message is not None:
                self._count(said.message.usage)
            case "message_delta":
                self._count(said.usage)
                if said.delta is not None:
                    self._stopped(said.delta)
            case "message_stop":
                self.over = True
            case "message":
                yield from self._whole(said)
            case "error":
                raise failure_in_stream(
                    said.error or "no reason given", self._provider, self._model
                )
            case _:
                pass  # pings, and what is to come

    def _whole(self, said: _Event) -> Iterator[StreamEvent]:
        """From a server that was asked to stream and did not."""
        for index, block in enumerate(said.content or ()):
            yield from self._block(index, block)
            self._close()
        self._count(said.usage)
        self._stopped(said)
        self.over = True

    def _stopped(self, said: _Delta | _Event) -> None:
        self._stop = said.stop_reason or self._stop
        if said.stop_details is not None:
            self._why = said.stop_details.explanation or self._why

    def _block(self, index: int, block: _Block) -> Iterator[StreamEvent]:
        match block.type:
            case "text" if block.text:
                yield self._answer.say(block.text)
            case "thinking":
                self._signature = block.signature or ""
                if block.thinking:
                    yield self._answer.think(block.thinking)
            case "redacted_thinking":
                self._answer.keep(REDACTED + (block.data or ""), apart=True)
            case "tool_use":
                # The input comes in deltas; one that is there at once is from a nearly compatible
                # server.
                given = msgspec.json.encode(block.input).decode() if block.input else ""
                yield self._answer.call(index, block.name, block.id, given)
            case _:
                pass

    def _delta(self, index: int, delta: _Delta) -> Iterator[StreamEvent]:
        match delta.type:
            case "text_delta":
                if delta.text:
                    yield self._answer.say(delta.text)
            case "thinking_delta":
                if delta.thinking:
                    yield self._answer.think(delta.thinking)
            case "input_json_delta":
                if delta.partial_json:
                    yield self._answer.extend(index, delta.partial_json)
            case "signature_delta":
                self._signature += delta.signature
            case _:
                pass

    def _close(self) -> None:
        if self._signature:
            self._answer.keep(self._signature)
            self._signature = ""

    def _count(self, usage: _Usage | None) -> None:
        """Counts are cumulative; a later event may leave out what an earlier one said."""
        if usage is not None:
            known = {k: v for k, v in msgspec.structs.asdict(usage).items() if v is not None}
            self._usage = msgspec.structs.replace(self._usage, **known)

    def end(self) -> Finished:
        if self._stop is None and not self.over:
            raise StreamCut("it stopped in the middle", provider=self._provider)
        facts = {"provider": self._provider, "model": self._model}
        if self._stop == "refusal":
            raise ContentRefused(self._why, **facts)
        if self._stop == "model_context_window_exceeded":
            raise ContextTooLong("its window is full", **facts)
        reason = "length" if self._stop == "max_tokens" else "stop"
        return self._answer.finish(reason, self._counted())

    def _counted(self) -> Usage | None:
        usage = self._usage
        if usage.input_tokens is None and usage.output_tokens is None:
            return None
        cached = usage.cache_read_input_tokens or 0
        written = usage.cache_creation_input_tokens or 0
        return Usage(
            self._provider,
            self._model,
            # Here the vendor's input excludes what the cache read and wrote.
            input_tokens=(usage.input_tokens or 0) + cached + written,
            cached_tokens=cached,
            cache_write_tokens=written,
            output_tokens=usage.output_tokens or 0,
            reasoning_tokens=(usage.output_tokens_details or _OutputDetails()).thinking_tokens or 0,
        )
