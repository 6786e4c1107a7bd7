"""A messages request as Anthropic takes it, and no other."""

import re
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
from roost.testing.models.signature import forged

_ID = re.compile(r"[a-zA-Z0-9_-]+")
MARKS = 4
"""How many blocks may be marked with `cache_control`."""


class _Cache(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class _Block(msgspec.Struct, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    cache_control: _Cache | None = None


class _Text(_Block, tag="text"):
    text: str
    citations: list[Json] | None = None


class _Image(_Block, tag="image"):
    source: Json


class _Document(_Block, tag="document"):
    source: Json
    title: str | None = None
    context: str | None = None
    citations: Json | None = None


class _ToolUse(_Block, tag="tool_use"):
    id: str
    name: str
    input: Json


class _ToolResult(_Block, tag="tool_result"):
    tool_use_id: str
    content: str | list[_Text | _Image | _Document] = ""
    is_error: bool = False


# Thinking can't be marked.
class _Thinking(msgspec.Struct, tag_field="type", tag="thinking", forbid_unknown_fields=True):
    thinking: str
    signature: str


class _Redacted(
    msgspec.Struct, tag_field="type", tag="redacted_thinking", forbid_unknown_fields=True
):
    data: str


class _User(msgspec.Struct, tag_field="role", tag="user", forbid_unknown_fields=True):
    content: str | list[_Text | _Image | _Document | _ToolResult]


class _Assistant(msgspec.Struct, tag_field="role", tag="assistant", forbid_unknown_fields=True):
    content: str | list[_Text | _ToolUse | _Thinking | _Redacted]


class _Tool(msgspec.Struct):
    name: str
    input_schema: Json
    description: str = ""
    type: Literal["custom"] | None = None
    cache_control: _Cache | None = None


class _ThinkingConfig(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["enabled", "disabled", "adaptive", "between_tools"]
    budget_tokens: int | None = None
    display: Literal["summarized", "omitted"] | None = None


class _Request(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    model: str
    max_tokens: int
    messages: list[_User | _Assistant]
    system: str | list[_Text] = ""
    tools: list[_Tool] = []
    stream: bool = False
    temperature: float | None = None
    thinking: _ThinkingConfig | None = None
    cache_control: _Cache | None = None
    container: object = None
    inference_geo: str | None = None
    metadata: Json | None = None
    output_config: Json | None = None
    service_tier: str | None = None
    stop_sequences: list[str] = []
    tool_choice: Json | None = None
    top_k: int | None = None
    top_p: float | None = None


def read(body: Json) -> Prompt:
    """Raises `Refused` with what is wrong."""
    try:
        request = msgspec.convert(body, _Request)
    except msgspec.ValidationError as error:
        raise Refused(str(error)) from error
    segments = _segments(body)
    _check_settings(request, sum(segment.marked for segment in segments))
    for at, message in enumerate(request.messages):
        _check_content(message, at, last=at == len(request.messages) - 1)
    results = _check_calls(request.messages)
    return Prompt(
        model=request.model,
        stream=request.stream,
        segments=tuple(segments),
        last_text=_text(request.messages[-1].content),
        tools=check_names([tool.name for tool in request.tools]),
        results=results,
    )


def _check_settings(request: _Request, marks: int) -> None:
    if request.max_tokens < 1:
        raise Refused("max_tokens: must be greater than or equal to 1")
    if not request.messages:
        raise Refused("messages: at least one message is required")
    if isinstance(request.messages[0], _Assistant):
        raise Refused('messages: first message must use the "user" role')
    if not 0 <= (request.temperature or 0) <= 1:
        raise Refused("temperature: range: 0..1")
    if marks > MARKS:
        raise Refused(
            f"A maximum of {MARKS} blocks with cache_control may be provided. Found {marks}."
        )
    thinking = request.thinking
    if thinking is None or thinking.type != "enabled":
        return
    if (thinking.budget_tokens or 0) < 1024:
        raise Refused("thinking.enabled.budget_tokens: must be greater than or equal to 1024")
    if request.max_tokens <= (thinking.budget_tokens or 0):
        raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if request.temperature not in (None, 1):
        raise Refused("`temperature` may only be set to 1 when thinking is enabled.")


def _check_content(message: _User | _Assistant, at: int, *, last: bool) -> None:
    if not message.content and not (last and isinstance(message, _Assistant)):
        raise Refused(f"messages.{at}: all messages must have non-empty content")
    blocks = message.content if isinstance(message.content, list) else []
    for place, block in enumerate(blocks):
        if isinstance(block, _Text) and not block.text.strip():
            raise Refused(f"messages.{at}: text content blocks must contain non-whitespace text")
        if isinstance(block, _ToolUse) and not _ID.fullmatch(block.id):
            raise Refused(f"messages.{at}.content.{place}.tool_use.id: invalid id {block.id!r}")
        if isinstance(block, _Thinking) and forged(block.thinking, block.signature):
            raise Refused(f"messages.{at}.content.{place}: Invalid `signature` in `thinking` block")
    if last and isinstance(message, _Assistant) and _text(message.content).endswith((" ", "\n")):
        raise Refused("messages: final assistant content cannot end with trailing whitespace")


def _check_calls(messages: list[_User | _Assistant]) -> dict[str, str]:
    """Each call is answered at the beginning of the next message, and nothing else is."""
    waiting: list[str] = []
    used: set[str] = set()
    results: dict[str, str] = {}
    for at, message in enumerate(messages):
        answered = _answers(message, at, waiting)
        if unanswered := [id for id in waiting if id not in answered]:
            raise Refused(_unanswered(at - 1, unanswered))
        results |= answered
        waiting = []
        for block in message.content:
            if isinstance(block, _ToolUse):
                if block.id in used:
                    raise Refused(f"messages.{at}: `tool_use` ids must be unique")
                used.add(block.id)
                waiting.append(block.id)
    if waiting:
        raise Refused(_unanswered(len(messages) - 1, waiting))
    return results


def _unanswered(at: int, ids: list[str]) -> str:
    return (
        f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` block in "
        f"the next message."
    )


def _answers(message: _User | _Assistant, at: int, waiting: list[str]) -> dict[str, str]:
    answered: dict[str, str] = {}
    for place, block in enumerate(message.content):
        if not isinstance(block, _ToolResult):
            continue
        if block.tool_use_id not in waiting or block.tool_use_id in answered:
            raise Refused(
                f"messages.{at}.content.{place}: unexpected `tool_use_id` found in `tool_result` "
                f"blocks: {block.tool_use_id}. Each `tool_result` block must have a corresponding "
                f"`tool_use` block in the previous message."
            )
        if len(answered) < place:
            raise Refused(f"messages.{at}: `tool_result` blocks must come before other content")
        answered[block.tool_use_id] = _text(block.content)
    return answered


def _text(content: str | Sequence[object]) -> str:
    if isinstance(content, str):
        return content
    texts = [block.text for block in content if isinstance(block, _Text)]
    if texts:
        return "".join(texts)
    return "".join([_text(block.content) for block in content if isinstance(block, _ToolResult)])


def _segments(body: Json) -> list[Segment]:
    found = list(_in_order(body))
    if body.get("cache_control") is not None and found:
        found[-1] = found[-1]._replace(marked=True)
    return found


def _in_order(body: Json) -> Iterator[Segment]:
    for tool in objects(body.get("tools")):
        yield segment("tool", tool)
    if body.get("system"):
        yield from message_segments({"role": "system", "content": body["system"]}, "text")
    for message in objects(body["messages"]):
        yield from message_segments(message, "text")
