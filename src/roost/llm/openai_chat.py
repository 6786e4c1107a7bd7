"""OpenAI's chat completions, as everybody who is nearly compatible speaks it."""

from collections.abc import Iterator

import msgspec

from roost.core.errors import ContentRefused, ReplyMalformed, StreamCut
from roost.core.ids import ToolCallId
from roost.core.messages import FilePart, ImagePart, Message, Part, ToolCallPart, ToolResultPart
from roost.core.usage import Usage
from roost.llm.answer import Answer
from roost.llm.base import Finished, Request, StreamEvent
from roost.llm.failures import ErrorBody, failure_in_stream
from roost.llm.profiles import Profile
from roost.llm.render import data_url, joined, note, origin, own_reasoning, wire_ids, words

PATH = "/chat/completions"

Json = dict[str, object]


def encode(request: Request, profile: Profile, provider: str) -> bytes:
    """The body of a request. What repeats from one request to the next stands last and in order,
    and each message is written by itself: an earlier request's bytes are a prefix of a later's."""
    head: Json = {"model": request.model, "stream": True}
    if profile.asks_for_usage:
        head["stream_options"] = {"include_usage": True}
    if request.max_output_tokens is not None:
        head[profile.output_field] = request.max_output_tokens
    if request.temperature is not None and profile.temperature:
        head["temperature"] = request.temperature
    head |= _effort(request, profile)
    if request.tools and profile.tools:
        head["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in request.tools
        ]
    head["messages"] = _messages(request, profile, provider)
    return msgspec.json.encode(head)


def _effort(request: Request, profile: Profile) -> Json:
    if request.effort is None:
        return {}
    match profile.effort:
        case "reasoning_effort":
            return {"reasoning_effort": "none" if request.effort == "off" else request.effort}
        case "reasoning":
            if request.effort == "off":
                return {"reasoning": {"enabled": False}}
            return {"reasoning": {"effort": request.effort}}
        case _:
            return {}


def _messages(request: Request, profile: Profile, provider: str) -> list[Json]:
    made_by = origin(provider, request.model)
    ids = wire_ids(request.messages, profile)
    messages: list[Json] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    for message in request.messages:
        match message.role:
            case "user":
                content = _content(message.parts, request, profile)
                messages.append({"role": "user", "content": content})
            case "note":
                text = note(joined(message.parts, request.blobs, profile))
                messages.append({"role": "user", "content": text})
            case "assistant":
                messages.append(_assistant(message, request, profile, made_by, ids))
            case "tool":
                messages += _results(message, request, profile, ids)
    if profile.cache == "breakpoints":
        _mark(messages)
    return messages


def _content(parts: tuple[Part, ...], request: Request, profile: Profile) -> str | list[Json]:
    """Text as a string, as every server takes it; a list only where something else is among it."""
    pieces: list[Json] = []
    for part in parts:
        text = words(part, request.blobs, profile)
        if text:
            pieces.append({"type": "text", "text": text})
        elif text is None and isinstance(part, ImagePart):
            url = data_url(part, request.blobs)
            pieces.append({"type": "image_url", "image_url": {"url": url}})
        elif text is None and isinstance(part, FilePart):
            file = {"filename": part.name, "file_data": data_url(part, request.blobs)}
            pieces.append({"type": "file", "file": file})
    if all(piece["type"] == "text" for piece in pieces):
        return "\n\n".join([str(piece["text"]) for piece in pieces])
    return pieces


def _assistant(
    message: Message,
    request: Request,
    profile: Profile,
    made_by: str,
    ids: dict[ToolCallId, str],
) -> Json:
    said: Json = {"role": "assistant", "content": joined(message.parts, request.blobs, profile)}
    thoughts = [part for each in message.parts if (part := own_reasoning(each, made_by))]
    if thoughts and profile.reasoning_back == "reasoning_content":
        said["reasoning_content"] = "".join([part.text for part in thoughts])
    elif thoughts and profile.reasoning_back == "reasoning_details":
        payloads = [part.payload for part in thoughts if part.payload]
        said["reasoning_details"] = [
            detail
            for payload in payloads
            for detail in msgspec.json.decode(payload, type=list[msgspec.Raw])
        ]
    if calls := [part for part in message.parts if isinstance(part, ToolCallPart)]:
        said["tool_calls"] = [
            {
                "id": ids[call.call],
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments or "{}"},
            }
            for call in calls
        ]
        said["content"] = said["content"] or None
    return said


def _results(
    message: Message, request: Request, profile: Profile, ids: dict[ToolCallId, str]
) -> list[Json]:
    """A message for each result. Tools can't answer in pictures here; those follow apart."""
    messages: list[Json] = []
    shown: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            text = joined(part.content, request.blobs, profile)
            messages.append(
                {"role": "tool", "tool_call_id": ids.get(part.call, part.call), "content": text}
            )
            shown += [item for item in part.content if words(item, request.blobs, profile) is None]
    if shown:
        messages.append({"role": "user", "content": _content(tuple(shown), request, profile)})
    return messages


def _mark(messages: list[Json]) -> None:
    """Tell the vendor to cache up to the system prompt, and up to each of the last two messages."""
    for message in [*messages[:1], *messages[1:][-2:]]:
        content = message["content"]
        if isinstance(content, str) and content:
            piece = {"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}
            message["content"] = [piece]


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
        self._done = False
        self._usage: Usage | None = None

    def feed(self, event: str, data: bytes) -> Iterator[StreamEvent]:
        if data == b"[DONE]":
            self._done = True
            return
        try:
            chunk = _decode(data)
        except msgspec.MsgspecError as error:
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
            self._details.append(dict(detail))
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
        if not function.name:
            raise ReplyMalformed("a tool call without a name", provider=self._provider)
        self._calls.append((call.index, call.id))
        yield answer.call(len(self._calls) - 1, function.name, call.id or None, arguments)

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
        if self._finish is None and not (self._done and not self._answer.empty):
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
