"""Anthropic's messages."""

from collections.abc import Iterator

import msgspec

from roost.core.errors import ContentRefused, ContextTooLong, ReplyMalformed, StreamCut
from roost.core.ids import ToolCallId
from roost.core.messages import FilePart, ImagePart, Message, Part, ToolCallPart, ToolResultPart
from roost.core.usage import Usage
from roost.llm.answer import Answer
from roost.llm.base import Finished, Request, StreamEvent
from roost.llm.failures import ErrorBody, failure_in_stream
from roost.llm.profiles import Profile
from roost.llm.render import base64_of, note, origin, own_reasoning, wire_ids, words

PATH = "/messages"
VERSION = "2023-06-01"

Json = dict[str, object]

_MAX_TOKENS = 8192
"""What is asked for where neither the caller nor the profile says: the field must be there."""

_BUDGETS = {"low": 2048, "medium": 8192, "high": 24_576}
_MARK: Json = {"type": "ephemeral"}


class _Written(msgspec.Struct):
    role: str
    content: list[Json]


def encode(request: Request, profile: Profile, provider: str) -> bytes:
    """The body of a request. What repeats from one request to the next stands last and in order."""
    head: Json = {"model": request.model, "stream": True}
    thinking = _thinking(request, profile)
    budget = _BUDGETS.get(request.effort or "", 0) if "thinking" in thinking else 0
    output = request.max_output_tokens or profile.output or _MAX_TOKENS
    if profile.effort == "thinking_budget" and budget:
        # The budget counts towards the limit, and must be below it.
        output = max(output, budget + 1024)
    head["max_tokens"] = output
    head |= thinking
    if request.temperature is not None and profile.temperature and "thinking" not in thinking:
        head["temperature"] = request.temperature
    if request.tools and profile.tools:
        tools: list[Json] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.parameters,
            }
            for tool in request.tools
        ]
        tools[-1]["cache_control"] = _MARK
        head["tools"] = tools
    if request.system:
        head["system"] = [{"type": "text", "text": request.system, "cache_control": _MARK}]
    head["messages"] = _messages(request, profile, provider)
    return msgspec.json.encode(head)


def _thinking(request: Request, profile: Profile) -> Json:
    if request.effort is None or profile.effort == "none":
        return {}
    if request.effort == "off":
        return {"thinking": {"type": "disabled"}} if profile.effort == "output_effort" else {}
    if profile.effort == "output_effort":
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": request.effort}}
    return {"thinking": {"type": "enabled", "budget_tokens": _BUDGETS[request.effort]}}


def _messages(request: Request, profile: Profile, provider: str) -> list[_Written]:
    made_by = origin(provider, request.model)
    ids = wire_ids(request.messages, profile)
    messages: list[_Written] = []
    for message in request.messages:
        role = "assistant" if message.role == "assistant" else "user"
        if content := _content(message, request, profile, made_by, ids):
            messages.append(_Written(role, content))
    # The last two of the user's side: the newest is written to the cache, the one before is up to
    # where it was read.
    for message in [each for each in messages if each.role == "user"][-2:]:
        message.content[-1]["cache_control"] = _MARK
    return messages


def _content(
    message: Message,
    request: Request,
    profile: Profile,
    made_by: str,
    ids: dict[ToolCallId, str],
) -> list[Json]:
    blocks: list[Json] = []
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            blocks.append(_tool_use(part, ids))
        elif isinstance(part, ToolResultPart):
            blocks.append(
                {
                    "type": "tool_result",
                    "tool_use_id": ids.get(part.call, part.call),
                    "content": _shown(part.content, request, profile),
                    "is_error": part.error,
                }
            )
        elif thought := own_reasoning(part, made_by):
            blocks.append(_thought(thought.text, thought.payload or ""))
        else:
            blocks += _shown((part,), request, profile, own=message.role == "note")
    return blocks


def _tool_use(part: ToolCallPart, ids: dict[ToolCallId, str]) -> Json:
    try:
        arguments = msgspec.json.decode(part.arguments or "{}", type=dict[str, object])
    except msgspec.MsgspecError:
        # What the model wrote was no object. It has seen the error that came of it; here, only
        # objects are taken.
        arguments = {"arguments": part.arguments}
    return {"type": "tool_use", "id": ids[part.call], "name": part.name, "input": arguments}


def _thought(text: str, payload: str) -> Json:
    """A thought with its signature, or one that was redacted and is its payload."""
    if text:
        return {"type": "thinking", "thinking": text, "signature": payload}
    return {"type": "redacted_thinking", "data": payload}


def _shown(
    parts: tuple[Part, ...], request: Request, profile: Profile, *, own: bool = False
) -> list[Json]:
    blocks: list[Json] = []
    for part in parts:
        text = words(part, request.blobs, profile)
        if text and not text.isspace():
            blocks.append({"type": "text", "text": note(text) if own else text})
        elif text is None and isinstance(part, ImagePart | FilePart):
            kind = "image" if isinstance(part, ImagePart) else "document"
            data = base64_of(part, request.blobs)
            source = {"type": "base64", "media_type": part.media_type, "data": data}
            blocks.append({"type": kind, "source": source})
    return blocks


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
    error: ErrorBody | None = None


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
        self._over = False

    def feed(self, event: str, data: bytes) -> Iterator[StreamEvent]:
        try:
            said = _decode(data)
        except msgspec.MsgspecError as error:
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
                    self._stop = said.delta.stop_reason or self._stop
                    if said.delta.stop_details is not None:
                        self._why = said.delta.stop_details.explanation or self._why
            case "message_stop":
                self._over = True
            case "error":
                raise failure_in_stream(
                    said.error or "no reason given", self._provider, self._model
                )
            case _:
                pass  # pings, and what is to come

    def _block(self, index: int, block: _Block) -> Iterator[StreamEvent]:
        match block.type:
            case "text" if block.text:
                yield self._answer.say(block.text)
            case "thinking":
                self._signature = block.signature or ""
                if block.thinking:
                    yield self._answer.think(block.thinking)
            case "redacted_thinking":
                self._answer.keep(block.data or "", apart=True)
            case "tool_use":
                # The input comes in deltas; one that is there at once is from a nearly compatible
                # server.
                given = msgspec.json.encode(block.input).decode() if block.input else ""
                yield self._answer.call(index, block.name or "", block.id, given)
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
                if not self._answer.has_call(index):
                    raise ReplyMalformed("input for no tool call", provider=self._provider)
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
        if self._stop is None and not self._over:
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
