"""What Roost asks of a model and what comes back, whatever the vendor."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

import msgspec

from roost.core.events import ReasoningDelta, TextDelta, ToolCallDelta
from roost.core.ids import BlobId
from roost.core.messages import Message, Part, ToolCallPart
from roost.core.turns import Effort
from roost.core.usage import Usage

ANSWER = "answer"
"""What an answer's schema is called, where it has to have a name."""

FinishReason = Literal["stop", "length", "tool_calls"]
"""A refusal or a filter is no way to finish: it is an error (`ContentRefused`)."""


class ToolSchema(msgspec.Struct, frozen=True):
    """`parameters` is a JSON schema, kept as the bytes it was first written as."""

    name: str
    description: str
    parameters: msgspec.Raw


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """`blobs` holds the bytes of every image and file that the messages name. `schema` is the JSON
    schema of the answer, for models that can be held to one: every property of an object is
    required, and it has no others."""

    model: str
    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSchema, ...] = ()
    effort: Effort | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    schema: msgspec.Raw | None = None
    blobs: Mapping[BlobId, bytes] = {}


class ToolCallDone(msgspec.Struct, frozen=True):
    """A tool call whose arguments are complete."""

    part: ToolCallPart


class Finished(msgspec.Struct, frozen=True):
    """The last event of every stream that was not cut: the whole answer, in the order it came. A
    server that reports no usage leaves it None."""

    parts: tuple[Part, ...]
    reason: FinishReason
    usage: Usage | None


class Retrying(msgspec.Struct, frozen=True):
    """An attempt failed before it said anything; the next begins after `delay` seconds."""

    reason: str
    delay: float


class FellBack(msgspec.Struct, frozen=True):
    """Another model answers from here on, because the one that was asked did not."""

    provider: str
    model: str
    reason: str


StreamEvent = (
    TextDelta | ReasoningDelta | ToolCallDelta | ToolCallDone | Finished | Retrying | FellBack
)


class LLMClient(Protocol):
    """A model that can be asked. Leaving the `async with` closes the connection at once."""

    def stream(
        self, request: Request
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]: ...

    async def close(self) -> None: ...


class Decoder(Protocol):
    """Turns the events of one protocol's stream into ours. Knows nothing of connections. `over` is
    True once the stream has said that it ends."""

    over: bool

    def feed(self, event: str, data: bytes) -> Iterable[StreamEvent]:
        """One server-sent event, or the whole answer of a server that does not stream. Raises a
        `ModelError` if it says that something went wrong."""
        ...

    def end(self) -> Finished:
        """The stream is over. Raises `StreamCut` if the answer was not."""
        ...
