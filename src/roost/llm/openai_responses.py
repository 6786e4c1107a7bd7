"""OpenAI's responses, stateless: the whole conversation goes with every request."""

from collections.abc import Iterator

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
    note,
    object_text,
    origin,
    sendable,
    wire_ids,
    with_results_together,
    words,
)

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
    effort = profile.effort_off if request.effort == "off" else request.effort
    if effort is not None and profile.effort == "reasoning_effort":
        head["reasoning"] = {"effort": effort, "summary": "auto"}
    if request.schema is not None and profile.schemas:
        schema = {"type": "json_schema", "name": ANSWER, "schema": request.schema, "strict": True}
        head["text"] = {"format": schema}
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
    for message in with_results_together(request.messages):
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

    for part in sendable(message, made_by):
        if isinstance(part, ToolCallPart):
            yield from spoken()
            yield {
                "type": "function_call",
                "call_id": ids[part.call],
                "name": part.name,
                "arguments": object_text(part.arguments),
            }
        elif isinstance(part, ToolResultPart):
            yield {
                "type": "function_call_output",
                "call_id": ids.get(part.call, part.call),
                "output": _output(part, request, profile),
            }
        elif isinstance(part, ReasoningPart):
            yield from spoken()
            if part.payload:
                yield msgspec.Raw(part.payload.encode())
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
