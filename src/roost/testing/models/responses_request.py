"""A responses request as OpenAI takes it, and no other."""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from roost.testing.models.prompt import (
    Json,
    Prompt,
    Refused,
    Segment,
    check_names,
    message_segments,
    objects,
    segment,
)

Status = Literal["in_progress", "completed", "incomplete"]
Mark = Json


class _InputText(msgspec.Struct, tag_field="type", tag="input_text", forbid_unknown_fields=True):
    text: str
    prompt_cache_breakpoint: Mark | None = None


class _InputImage(msgspec.Struct, tag_field="type", tag="input_image", forbid_unknown_fields=True):
    image_url: str | None = None
    file_id: str | None = None
    detail: Literal["low", "high", "auto", "original"] = "auto"
    prompt_cache_breakpoint: Mark | None = None


class _InputFile(msgspec.Struct, tag_field="type", tag="input_file", forbid_unknown_fields=True):
    filename: str | None = None
    file_data: str | None = None
    file_id: str | None = None
    file_url: str | None = None
    detail: str | None = None
    prompt_cache_breakpoint: Mark | None = None


class _OutputText(msgspec.Struct, tag_field="type", tag="output_text", forbid_unknown_fields=True):
    text: str
    annotations: list[Json] = []
    logprobs: list[Json] = []


class _Refusal(msgspec.Struct, tag_field="type", tag="refusal", forbid_unknown_fields=True):
    refusal: str


_Input = _InputText | _InputImage | _InputFile
_Output = _OutputText | _Refusal


class _Item(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    type: str = "message"
    id: str | None = None
    status: Status | None = None


class _Message(_Item):
    role: Literal["user", "system", "developer"]
    content: str | list[_Input]


class _Said(_Item):
    role: Literal["assistant"]
    content: str | list[_Output]
    phase: Literal["commentary", "final_answer"] | None = None


class _Call(_Item):
    call_id: str
    name: str
    arguments: str


class _CallOutput(_Item):
    call_id: str
    output: str | list[_Input]


class _Reasoning(_Item):
    summary: list[Json]
    content: list[Json] | None = None
    encrypted_content: str | None = None


_AnyItem = _Message | _Said | _Call | _CallOutput | _Reasoning
_PREFIXES: dict[type[_Item], str] = {_Said: "msg", _Call: "fc", _Reasoning: "rs"}


class _Function(msgspec.Struct, tag_field="type", tag="function", forbid_unknown_fields=True):
    name: str
    parameters: Json | None
    description: str | None = None
    strict: bool | None = None


class _Request(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    model: str
    input: str | list[Json]
    instructions: str | None = None
    tools: list[_Function] = []
    stream: bool | None = False
    store: bool | None = True
    include: list[str] | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    previous_response_id: str | None = None
    background: bool | None = None
    max_tool_calls: int | None = None
    metadata: Json | None = None
    parallel_tool_calls: bool | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: Json | None = None
    prompt_cache_retention: str | None = None
    reasoning: Json | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    stream_options: Json | None = None
    text: Json | None = None
    tool_choice: object = None
    top_logprobs: int | None = None
    top_p: float | None = None
    truncation: str | None = None
    user: str | None = None


def read(body: Json) -> Prompt:
    """Raises `Refused` with what is wrong."""
    try:
        request = msgspec.convert(body, _Request)
        items = [_item(item, at) for at, item in enumerate(_items(request.input))]
    except msgspec.ValidationError as error:
        raise Refused(str(error)) from error
    if not items:
        raise Refused("Invalid 'input': empty array. Expected a minimum length of 1.")
    if request.previous_response_id is not None:
        raise Refused(f"Previous response with id '{request.previous_response_id}' not found.")
    if request.max_output_tokens is not None and request.max_output_tokens < 16:
        raise Refused("Invalid 'max_output_tokens': integer below minimum value of 16.")
    _check_reasoning(items)
    return Prompt(
        model=request.model,
        stream=bool(request.stream),
        segments=tuple(_segments(body)),
        last_text=_text(items[-1]),
        tools=check_names([tool.name for tool in request.tools]),
        results=_check_calls(items),
    )


def _items(given: str | list[Json]) -> list[Json]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _item(item: Json, at: int) -> _AnyItem:
    match item.get("type", "message"), item.get("role"):
        case "message", "assistant":
            kind = _Said
        case "message", _:
            kind = _Message
        case "function_call", _:
            kind = _Call
        case "function_call_output", _:
            kind = _CallOutput
        case "reasoning", _:
            kind = _Reasoning
        case other, _:
            raise Refused(f"Invalid value: '{other}' (input[{at}].type).")
    try:
        converted = msgspec.convert(item, kind)
    except msgspec.ValidationError as error:
        raise Refused(f"Invalid 'input[{at}]': {error}") from error
    prefix = _PREFIXES.get(kind)
    if prefix and converted.id is not None and not converted.id.startswith(prefix):
        raise Refused(
            f"Invalid 'input[{at}].id': '{converted.id}'. Expected an ID that begins with "
            f"'{prefix}'."
        )
    return converted


def _check_reasoning(items: list[_AnyItem]) -> None:
    """What the model thought stands before what it then said or did."""
    following: list[_AnyItem | None] = [*items[1:], None]
    for item, after in zip(items, following, strict=True):
        if not isinstance(item, _Reasoning):
            continue
        if item.id is None:
            raise Refused("Missing required parameter: 'id' of an item of type 'reasoning'.")
        if not isinstance(after, _Said | _Call | _Reasoning):
            raise Refused(
                f"Item '{item.id}' of type 'reasoning' was provided without its required "
                f"following item."
            )


def _check_calls(items: list[_AnyItem]) -> dict[str, str]:
    calls: set[str] = set()
    results: dict[str, str] = {}
    for item in items:
        if isinstance(item, _Call):
            if item.call_id in calls:
                raise Refused(f"Duplicate function call with call_id {item.call_id}.")
            calls.add(item.call_id)
        elif isinstance(item, _CallOutput):
            if item.call_id not in calls or item.call_id in results:
                raise Refused(
                    f"No tool call found for function call output with call_id {item.call_id}."
                )
            results[item.call_id] = _text(item)
    for call in calls:
        if call not in results:
            raise Refused(f"No tool output found for function call {call}.")
    return results


def _text(item: _AnyItem) -> str:
    match item:
        case _Message() | _Said():
            content: str | Sequence[object] = item.content
        case _CallOutput():
            content = item.output
        case _:
            return ""
    if isinstance(content, str):
        return content
    return "".join([part.text for part in content if isinstance(part, _InputText | _OutputText)])


def _segments(body: Json) -> Iterator[Segment]:
    for tool in objects(body.get("tools")):
        yield segment("tool", tool)
    if body.get("instructions"):
        yield segment("system", {"text": body["instructions"]})
    given = body["input"]
    for item in _items(given) if isinstance(given, str) else objects(given):
        if "role" in item:
            kind = "output_text" if item["role"] == "assistant" else "input_text"
            yield from message_segments(item, kind)
        else:
            yield segment("item", item)
