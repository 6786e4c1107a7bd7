"""A chat completions request as OpenAI takes it, and no other."""

from collections.abc import Iterator, Sequence

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


class _Text(msgspec.Struct, tag_field="type", tag="text"):
    text: str


class _Url(msgspec.Struct):
    url: str


class _Image(msgspec.Struct, tag_field="type", tag="image_url"):
    image_url: _Url


class _File(msgspec.Struct, tag_field="type", tag="file"):
    file: dict[str, str]


class _Audio(msgspec.Struct, tag_field="type", tag="input_audio"):
    input_audio: dict[str, str]


class _Refusal(msgspec.Struct, tag_field="type", tag="refusal"):
    refusal: str


class _Function(msgspec.Struct):
    name: str
    arguments: str


class _Call(msgspec.Struct, tag_field="type", tag="function"):
    id: str
    function: _Function


class _System(msgspec.Struct, tag_field="role", tag="system"):
    content: str | list[_Text]


class _Developer(msgspec.Struct, tag_field="role", tag="developer"):
    content: str | list[_Text]


class _User(msgspec.Struct, tag_field="role", tag="user"):
    content: str | list[_Text | _Image | _File | _Audio]


class _Assistant(msgspec.Struct, tag_field="role", tag="assistant"):
    content: str | list[_Text | _Refusal] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Tool(msgspec.Struct, tag_field="role", tag="tool"):
    content: str | list[_Text]
    tool_call_id: str


_Message = _System | _Developer | _User | _Assistant | _Tool


class _Definition(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: dict[str, object] | None = None


class _Offered(msgspec.Struct, tag_field="type", tag="function"):
    function: _Definition


class _StreamOptions(msgspec.Struct):
    include_usage: bool = False


class _Request(msgspec.Struct):
    model: str
    messages: list[_Message]
    tools: list[_Offered] | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None


def read(body: Json) -> Prompt:
    """Raises `Refused` with what is wrong."""
    try:
        request = msgspec.convert(body, _Request)
    except msgspec.ValidationError as error:
        raise Refused(str(error)) from error
    _check(request)
    return Prompt(
        model=request.model,
        stream=bool(request.stream),
        segments=tuple(_segments(body)),
        last_text=_text(request.messages[-1].content),
        tools=check_names([tool.function.name for tool in request.tools or ()]),
        results={
            message.tool_call_id: _text(message.content)
            for message in request.messages
            if isinstance(message, _Tool)
        },
    )


def _check(request: _Request) -> None:
    if not request.messages:
        raise Refused("Invalid 'messages': empty array. Expected a minimum length of 1.")
    if request.stream_options is not None and not request.stream:
        raise Refused("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    if request.tools == []:
        raise Refused("Invalid 'tools': empty array. Expected a minimum length of 1.")
    if not 0 <= (request.temperature or 0) <= 2:
        raise Refused("Invalid 'temperature': expected a value between 0 and 2.")
    for limit in (request.max_tokens, request.max_completion_tokens):
        if limit is not None and limit < 1:
            raise Refused("Invalid 'max_tokens': expected a value >= 1.")
    _check_calls(request.messages)


def _check_calls(messages: list[_Message]) -> None:
    """Each call is answered, once, before anybody else speaks; nothing else is answered."""
    waiting: list[str] = []
    for at, message in enumerate(messages):
        if isinstance(message, _Tool):
            if message.tool_call_id not in waiting:
                raise Refused(
                    f"Invalid parameter: messages with role 'tool' must be a response to a "
                    f"preceding message with 'tool_calls' (messages[{at}])."
                )
            waiting.remove(message.tool_call_id)
            continue
        _check_answered(waiting)
        if isinstance(message, _Assistant):
            waiting = _calls(message, at)
    _check_answered(waiting)


def _check_answered(waiting: list[str]) -> None:
    if waiting:
        raise Refused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(waiting)
        )


def _calls(message: _Assistant, at: int) -> list[str]:
    if message.tool_calls is None:
        if message.content is None and message.refusal is None:
            raise Refused(f"Invalid value for 'messages[{at}].content': expected a string.")
        return []
    ids = [call.id for call in message.tool_calls]
    if not ids:
        raise Refused(f"[] is too short - 'messages[{at}].tool_calls'")
    if len(set(ids)) < len(ids) or not all(ids):
        raise Refused(f"Invalid 'messages[{at}].tool_calls': each needs an id of its own.")
    return ids


def _text(content: str | Sequence[object] | None) -> str:
    if isinstance(content, str):
        return content
    return "".join([part.text for part in content or () if isinstance(part, _Text)])


def _segments(body: Json) -> Iterator[Segment]:
    for tool in objects(body.get("tools")):
        yield segment("tool", tool)
    for message in objects(body["messages"]):
        yield from message_segments(message, "text")
