"""Anthropic's messages."""

import msgspec

from roost.core.ids import ToolCallId
from roost.core.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    ToolCallPart,
    ToolResultPart,
)
from roost.llm.base import Request
from roost.llm.profiles import Profile
from roost.llm.render import (
    base64_of,
    note,
    object_text,
    origin,
    sendable,
    wire_ids,
    with_results_together,
    words,
)

PATH = "/messages"
VERSION = "2023-06-01"
REDACTED = "redacted:"
"""Tells, among what thoughts want back, the data of a redacted one from a signature."""

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
    output = request.max_output_tokens or profile.output or _MAX_TOKENS
    if thinking and profile.effort == "thinking_budget":
        # The budget counts towards the limit, and must be below it.
        output = max(output, _BUDGETS[request.effort or ""] + 1024)
    head["max_tokens"] = output
    head |= thinking | _output(request, profile)
    if request.temperature is not None and profile.temperature and not thinking:
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
        known = profile.effort == "output_effort" and profile.effort_off is not None
        return {"thinking": {"type": profile.effort_off}} if known else {}
    if profile.effort == "output_effort":
        return {"thinking": {"type": "adaptive"}}
    return {"thinking": {"type": "enabled", "budget_tokens": _BUDGETS[request.effort]}}


def _output(request: Request, profile: Profile) -> Json:
    config: Json = {}
    if request.effort not in (None, "off") and profile.effort == "output_effort":
        config["effort"] = request.effort
    if request.schema is not None and profile.schemas:
        config["format"] = {"type": "json_schema", "schema": request.schema}
    return {"output_config": config} if config else {}


def _messages(request: Request, profile: Profile, provider: str) -> list[_Written]:
    made_by = origin(provider, request.model)
    ids = wire_ids(request.messages, profile)
    messages: list[_Written] = []
    for message in with_results_together(request.messages):
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
    for part in sendable(message, made_by):
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
        elif isinstance(part, ReasoningPart):
            blocks.append(_thought(part.text, part.payload or ""))
        else:
            blocks += _shown((part,), request, profile, own=message.role == "note")
    return blocks


def _tool_use(part: ToolCallPart, ids: dict[ToolCallId, str]) -> Json:
    arguments = msgspec.json.decode(object_text(part.arguments), type=dict[str, object])
    return {"type": "tool_use", "id": ids[part.call], "name": part.name, "input": arguments}


def _thought(text: str, payload: str) -> Json:
    """A thought with its signature, or one that was redacted and is its payload."""
    if payload.startswith(REDACTED):
        return {"type": "redacted_thinking", "data": payload.removeprefix(REDACTED)}
    return {"type": "thinking", "thinking": text, "signature": payload}


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
