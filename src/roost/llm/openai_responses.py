"""OpenAI's responses, stateless: the whole conversation goes with every request."""

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
from roost.llm.render import data_url, note, origin, own_reasoning, wire_ids, words

PATH = "/responses"

Json = dict[str, object]


def encode(request: Request, profile: Profile, provider: str) -> bytes:
    """The body of a request. What repeats from one request to the next stands last and in order."""
    head: Json = {
        "model": request.model,
        "stream": True,
        "store": False,
        # Without the vendor's storage, this is how its reasoning comes back to it.
        "include": ["reasoning.encrypted_content"],
    }
    if request.max_output_tokens is not None:
        head["max_output_tokens"] = request.max_output_tokens
    if request.temperature is not None and profile.temperature:
        head["temperature"] = request.temperature
    if request.effort is not None and profile.effort == "reasoning_effort":
        effort = "none" if request.effort == "off" else request.effort
        head["reasoning"] = {"effort": effort, "summary": "auto"}
    if request.tools and profile.tools:
        head["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in request.tools
        ]
    if request.system:
        head["instructions"] = request.system
    head["input"] = _input(request, profile, provider)
    return msgspec.json.encode(head)


def _input(request: Request, profile: Profile, provider: str) -> list[object]:
    made_by = origin(provider, request.model)
    ids = wire_ids(request.messages, profile)
    items: list[object] = []
    for message in request.messages:
        items += _items(message, request, profile, made_by, ids)
    return items


def _items(
    message: Message,
    request: Request,
    profile: Profile,
    made_by: str,
    ids: dict[ToolCallId, str],
) -> Iterator[object]:
    """A message as items, in the order of its parts: text that stands together is one of them."""
    words_so_far: list[Json] = []
    role = "assistant" if message.role == "assistant" else "user"

    def spoken() -> Iterator[Json]:
        if words_so_far:
            yield {"type": "message", "role": role, "content": list(words_so_far)}
            words_so_far.clear()

    for part in message.parts:
        if isinstance(part, ToolCallPart):
            yield from spoken()
            yield {
                "type": "function_call",
                "call_id": ids[part.call],
                "name": part.name,
                "arguments": part.arguments or "{}",
            }
        elif isinstance(part, ToolResultPart):
            yield {
                "type": "function_call_output",
                "call_id": ids.get(part.call, part.call),
                "output": _output(part, request, profile),
            }
        elif thought := own_reasoning(part, made_by):
            yield from spoken()
            yield msgspec.Raw((thought.payload or "{}").encode())
        else:
            words_so_far += _content(part, request, profile, message.role)
    yield from spoken()


def _content(part: Part, request: Request, profile: Profile, role: str) -> list[Json]:
    text = words(part, request.blobs, profile)
    if text:
        kind = "output_text" if role == "assistant" else "input_text"
        return [{"type": kind, "text": note(text) if role == "note" else text}]
    if text is None and isinstance(part, ImagePart):
        url = data_url(part, request.blobs)
        return [{"type": "input_image", "detail": "auto", "image_url": url}]
    if text is None and isinstance(part, FilePart):
        data = data_url(part, request.blobs)
        return [{"type": "input_file", "filename": part.name, "file_data": data}]
    return []


def _output(part: ToolResultPart, request: Request, profile: Profile) -> str | list[Json]:
    content = [item for each in part.content for item in _content(each, request, profile, "tool")]
    if all(item["type"] == "input_text" for item in content):
        return "\n\n".join([str(item["text"]) for item in content])
    return content


class _Item(msgspec.Struct):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    encrypted_content: str | None = None


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


class _Event(msgspec.Struct):
    type: str = ""
    output_index: int = 0
    delta: str | dict[str, object] | None = None
    item: msgspec.Raw = msgspec.Raw()
    response: _Response | None = None
    message: str | None = None
    code: str | None = None


_decode = msgspec.json.Decoder(_Event).decode
_decode_item = msgspec.json.Decoder(_Item).decode


class ResponsesDecoder:
    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._model = model
        self._answer = Answer(provider, model)
        self._refusal = ""
        self._over = False
        self._cut_short: str | None = None
        self._usage: Usage | None = None

    def feed(self, event: str, data: bytes) -> Iterator[StreamEvent]:
        if data == b"[DONE]":
            return
        try:
            said = _decode(data)
            item = _decode_item(said.item) if len(bytes(said.item)) else _Item()
        except msgspec.MsgspecError as error:
            raise ReplyMalformed(str(error), provider=self._provider) from error
        delta = said.delta if isinstance(said.delta, str) else ""
        match said.type:
            case "response.output_text.delta" if delta:
                yield self._answer.say(delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" if delta:
                yield self._answer.think(delta)
            case "response.function_call_arguments.delta" if delta:
                if not self._answer.has_call(said.output_index):
                    raise ReplyMalformed("arguments for no call", provider=self._provider)
                yield self._answer.extend(said.output_index, delta)
            case "response.output_item.added" if item.type == "function_call":
                yield self._answer.call(
                    said.output_index,
                    item.name or "",
                    item.call_id or item.id,
                    item.arguments or "",
                )
            case "response.output_item.done" if item.type == "reasoning":
                if item.encrypted_content:
                    self._answer.keep(bytes(said.item).decode())
            case "response.refusal.delta":
                self._refusal += delta
            case "response.completed" | "response.incomplete":
                self._end(said.response or _Response())
            case "response.failed" | "error":
                error = said.response.error if said.response else None
                given = ErrorBody(message=said.message, code=said.code)
                raise failure_in_stream(error or given, self._provider, self._model)
            case _:
                pass

    def _end(self, response: _Response) -> None:
        self._over = True
        if response.incomplete_details is not None:
            self._cut_short = response.incomplete_details.reason
        if response.usage is not None:
            self._usage = _usage(response.usage, self._provider, self._model)

    def end(self) -> Finished:
        if self._refusal or self._cut_short == "content_filter":
            detail = self._refusal or "stopped by its content filter"
            raise ContentRefused(detail, provider=self._provider, model=self._model)
        if not self._over:
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
