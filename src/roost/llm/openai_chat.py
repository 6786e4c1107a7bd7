"""OpenAI's chat completions, as everybody who is nearly compatible speaks it."""

from typing import cast

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
from roost.llm.base import ANSWER, Request
from roost.llm.profiles import Profile
from roost.llm.render import (
    data_url,
    joined,
    note,
    object_text,
    origin,
    sendable,
    wire_ids,
    with_results_together,
    words,
)

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
    if request.schema is not None and profile.schemas:
        schema = {"name": ANSWER, "schema": request.schema, "strict": True}
        head["response_format"] = {"type": "json_schema", "json_schema": schema}
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
    effort = profile.effort_off if request.effort == "off" else request.effort
    if effort is None:
        return {}
    match profile.effort:
        case "reasoning_effort":
            return {"reasoning_effort": effort}
        case "reasoning":
            off = request.effort == "off"
            return {"reasoning": {"enabled": False} if off else {"effort": effort}}
        case _:
            return {}


def _messages(request: Request, profile: Profile, provider: str) -> list[Json]:
    made_by = origin(provider, request.model)
    ids = wire_ids(request.messages, profile)
    messages: list[Json] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    for message in with_results_together(request.messages):
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
    said |= _thoughts(sendable(message, made_by), profile)
    if calls := [part for part in message.parts if isinstance(part, ToolCallPart)]:
        said["tool_calls"] = [
            {
                "id": ids[call.call],
                "type": "function",
                "function": {"name": call.name, "arguments": object_text(call.arguments)},
            }
            for call in calls
        ]
        said["content"] = said["content"] or None
    return said


def _thoughts(parts: list[Part], profile: Profile) -> Json:
    thoughts = [part for part in parts if isinstance(part, ReasoningPart)]
    if thoughts and profile.reasoning_back == "reasoning_content":
        return {"reasoning_content": "".join([part.text for part in thoughts])}
    if profile.reasoning_back == "reasoning_details":
        payloads = [part.payload for part in thoughts if part.payload]
        found = [msgspec.json.decode(payload, type=list[msgspec.Raw]) for payload in payloads]
        if details := [detail for each in found for detail in each]:
            return {"reasoning_details": details}
    return {}


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
    """Tell the vendor to cache up to the system prompt, and up to the last two messages that are
    not the model's. All text is in blocks then: a mark that moves on changes nothing else."""
    for message in messages:
        content = message["content"]
        if isinstance(content, str) and content:
            message["content"] = [{"type": "text", "text": content}]
    system = [message for message in messages[:1] if message["role"] == "system"]
    others = [message for message in messages if message["role"] in ("user", "tool")]
    for message in [*system, *others[-2:]]:
        content = message["content"]
        if isinstance(content, list) and content:
            cast("list[Json]", content)[-1]["cache_control"] = {"type": "ephemeral"}
