"""A chat completion as it is asked for: what Roost takes of it, and what it refuses."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from roost.core.turns import Effort
from roost.http.fields import Phrase
from roost.http.openai_errors import OpenAIError, unsupported, wrong_value

_TOOLS = (
    "Roost's agent has tools of its own and can't call those of a client. Leave {name} out; tools"
    " of yours can be given to it as an MCP server."
)


class TextContent(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    text: str


class RefusalContent(msgspec.Struct, frozen=True, tag_field="type", tag="refusal"):
    refusal: str


class ImageUrl(msgspec.Struct, frozen=True):
    """A `data:` address: Roost fetches no others."""

    url: str


class ImageContent(msgspec.Struct, frozen=True, tag_field="type", tag="image_url"):
    image_url: ImageUrl


Text = str | tuple[TextContent, ...]


class SystemMessage(msgspec.Struct, frozen=True, tag_field="role", tag="system"):
    content: Text


class DeveloperMessage(msgspec.Struct, frozen=True, tag_field="role", tag="developer"):
    content: Text


class UserMessage(msgspec.Struct, frozen=True, tag_field="role", tag="user"):
    content: str | tuple[TextContent | ImageContent, ...]


class AssistantMessage(msgspec.Struct, frozen=True, tag_field="role", tag="assistant"):
    content: str | tuple[TextContent | RefusalContent, ...] | None = None
    tool_calls: tuple[Any, ...] | None = None
    function_call: Any = None


class ToolMessage(msgspec.Struct, frozen=True, tag_field="role", tag="tool"):
    content: Any = None


class FunctionMessage(msgspec.Struct, frozen=True, tag_field="role", tag="function"):
    content: Any = None


GivenMessage = (
    SystemMessage
    | DeveloperMessage
    | UserMessage
    | AssistantMessage
    | ToolMessage
    | FunctionMessage
)
Spoken = UserMessage | AssistantMessage


class StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool | None = None


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is not named here, such as a temperature, is ignored: an agent's settings are its own.
    What would make another answer of it (tools of a client, several choices, a format) is refused.
    """

    messages: Annotated[tuple[GivenMessage, ...], msgspec.Meta(min_length=1, max_length=10_000)]
    model: Phrase
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = (
        None
    )
    n: int | None = None
    tools: tuple[Any, ...] | None = None
    tool_choice: Any = None
    functions: tuple[Any, ...] | None = None
    function_call: Any = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    logit_bias: Mapping[str, Any] | None = None
    stop: str | tuple[str, ...] | None = None
    response_format: Mapping[str, Any] | None = None
    modalities: tuple[str, ...] | None = None
    audio: Any = None
    web_search_options: Any = None

    @property
    def effort(self) -> Effort | None:
        return None if self.reasoning_effort is None else _EFFORTS[self.reasoning_effort]

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)


_EFFORTS: Mapping[str, Effort] = {
    "none": "off",
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


class Conversation(NamedTuple):
    """`instructions` are what the system said, `now` what the user says after all `before`."""

    instructions: str
    before: Sequence[Spoken]
    now: Sequence[UserMessage]


def conversation(request: ChatRequest) -> Conversation:
    """Raises what is refused about a request."""
    for error in _refused(request):
        raise error
    system = (SystemMessage, DeveloperMessage)
    instructions = [text_of(each.content) for each in request.messages if isinstance(each, system)]
    spoken = [each for each in request.messages if isinstance(each, UserMessage | AssistantMessage)]
    now: list[UserMessage] = []
    while spoken and isinstance(last := spoken[-1], UserMessage):
        now.insert(0, last)
        spoken.pop()
    if not now:
        raise wrong_value("messages", "The last message has to be the user's.")
    return Conversation("\n\n".join(filter(None, instructions)), spoken, now)


def text_of(content: str | Sequence[object] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    texts = [each.text for each in content if isinstance(each, TextContent)]
    texts += [each.refusal for each in content if isinstance(each, RefusalContent)]
    return "\n\n".join(texts)


def _refused(request: ChatRequest) -> Sequence[OpenAIError]:
    return [*_refused_tools(request), *_refused_formats(request), *_refused_messages(request)]


def _refused_tools(request: ChatRequest) -> Sequence[OpenAIError]:
    given = {
        "tools": bool(request.tools),
        "tool_choice": request.tool_choice not in (None, "none", "auto"),
        "functions": bool(request.functions),
        "function_call": request.function_call not in (None, "none", "auto"),
        "web_search_options": request.web_search_options is not None,
    }
    return [
        unsupported(name, _TOOLS.format(name=name)) for name, is_there in given.items() if is_there
    ]


def _refused_formats(request: ChatRequest) -> Sequence[OpenAIError]:
    form = (request.response_format or {}).get("type", "text")
    given = {
        "n": (request.n not in (None, 1), "Roost gives one answer. Ask again for another."),
        "logprobs": (bool(request.logprobs), "An agent's answer has no log probabilities."),
        "top_logprobs": (bool(request.top_logprobs), "An agent's answer has no log probabilities."),
        "logit_bias": (bool(request.logit_bias), "Roost does not weigh single tokens."),
        "stop": (bool(request.stop), "Roost does not stop at words. Cut the answer yourself."),
        "response_format": (form != "text", "Roost answers in text. Ask for a format in words."),
        "modalities": (
            not set(request.modalities or ()) <= {"text"},
            "Roost answers in text alone.",
        ),
        "audio": (request.audio is not None, "Roost answers in text alone."),
    }
    return [unsupported(name, said) for name, (is_there, said) in given.items() if is_there]


def _refused_messages(request: ChatRequest) -> Sequence[OpenAIError]:
    for place, message in enumerate(request.messages):
        is_tools = isinstance(message, ToolMessage | FunctionMessage)
        if isinstance(message, AssistantMessage):
            is_tools = bool(message.tool_calls) or message.function_call is not None
        if is_tools:
            said = _TOOLS.format(name="calls and their results")
            return [unsupported(f"messages[{place}]", said)]
    return []
