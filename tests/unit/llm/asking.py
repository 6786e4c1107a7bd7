"""Our own clients, pointed at the scripted server, and what they understood of an answer."""

import re
from collections.abc import Iterable, Mapping

import aiohttp
import msgspec

from roost.core.events import ReasoningDelta, TextDelta, ToolCallDelta
from roost.core.ids import MessageId
from roost.core.messages import (
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    plain_text,
)
from roost.core.settings import WireName
from roost.llm.anthropic import REDACTED
from roost.llm.base import Finished, LLMClient, Request, StreamEvent, ToolCallDone
from roost.llm.client import Endpoint, HttpClient
from roost.llm.profiles import Profile
from roost.testing.models import ModelServer
from tests.unit.testing.models.listening import Heard, Protocols

KEY = "sk-roost-secret-0123456789"
WIRES: dict[Protocols, WireName] = {
    "chat": "openai-chat",
    "responses": "openai-responses",
    "anthropic": "anthropic",
}


def profile(protocol: Protocols, **changes: object) -> Profile:
    """A model that takes everything its protocol can carry."""
    usual = Profile(
        wire=WIRES[protocol],
        files=True,
        cache="breakpoints" if protocol == "anthropic" else "automatic",
        effort="thinking_budget" if protocol == "anthropic" else "reasoning_effort",
    )
    return msgspec.structs.replace(usual, **changes)


def asking(
    connections: aiohttp.ClientSession,
    server: ModelServer | str,
    protocol: Protocols,
    changes: Mapping[str, object] | None = None,
    *,
    stall: float = 30,
) -> HttpClient:
    url = server if isinstance(server, str) else server.openai_url
    headers = (
        {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
        if protocol == "anthropic"
        else {"authorization": f"Bearer {KEY}"}
    )
    spoken = profile(protocol, **(changes or {}))
    return HttpClient(connections, Endpoint("nest", url, headers), lambda _: spoken, stall=stall)


def message(role: Role, *parts: Part) -> Message:
    return Message(MessageId("msg_1"), role, parts)


def question(text: str = "hi", model: str = "heron") -> Request:
    return Request(model=model, messages=(message("user", TextPart(text)),))


async def events_of(client: LLMClient, request: Request | None = None) -> list[StreamEvent]:
    async with client.stream(request or question()) as events:
        return [event async for event in events]


def understood(events: Iterable[StreamEvent]) -> Heard:
    """What was said, once its pieces are seen to be the same as the whole."""
    *before, finished = events
    assert isinstance(finished, Finished)
    calls = [part for part in finished.parts if isinstance(part, ToolCallPart)]
    thoughts = [part for part in finished.parts if isinstance(part, ReasoningPart)]
    said = "".join([event.text for event in before if isinstance(event, TextDelta)])
    thought = "".join([event.text for event in before if isinstance(event, ReasoningDelta)])
    assert said == "".join([part.text for part in finished.parts if isinstance(part, TextPart)])
    assert thought == "".join([part.text for part in thoughts])
    assert [event.part for event in before if isinstance(event, ToolCallDone)] == calls
    for part in calls:
        deltas = [each for each in before if isinstance(each, ToolCallDelta)]
        written = [each.arguments for each in deltas if each.call == part.call]
        assert ("".join(written) or "{}") == part.arguments
    usage = finished.usage
    return Heard(
        text=said,
        thoughts=thought,
        payloads=[_payload(part.payload) for part in thoughts if part.payload],
        calls=[(part.name, part.arguments) for part in calls],
        ids=[part.wire_id or "" for part in calls],
        finish=finished.reason,
        usage=usage
        and (
            usage.input_tokens,
            usage.cached_tokens,
            usage.output_tokens,
            usage.reasoning_tokens,
        ),
    )


def _payload(payload: str) -> str:
    """What the vendor made, out of what we keep to send it back."""
    if payload.startswith("{"):
        return str(msgspec.json.decode(payload)["encrypted_content"])
    return payload.removeprefix(REDACTED)


def timeless(heard: Heard) -> Heard:
    """Without what differs from one asking to the next: the ids that the server numbers, and how
    JSON is spaced."""
    return msgspec.structs.replace(
        heard,
        ids=[re.sub(r"_\d{6}_", "_", id) for id in heard.ids],
        calls=[(name, _spaced(arguments)) for name, arguments in heard.calls],
    )


def _spaced(arguments: str) -> str:
    try:
        return msgspec.json.format(arguments, indent=0)
    except msgspec.MsgspecError:
        return arguments


def said_by(events: Iterable[StreamEvent]) -> str:
    finished = list(events)[-1]
    assert isinstance(finished, Finished)
    return plain_text(finished.parts)
