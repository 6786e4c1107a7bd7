"""The three protocols: where each is spoken, how its requests are read and its answers written."""

from collections.abc import Callable, Mapping

import msgspec

from roost.testing.models.anthropic_request import read as read_anthropic
from roost.testing.models.anthropic_writer import AnthropicWriter
from roost.testing.models.chat_request import read as read_chat
from roost.testing.models.chat_writer import ChatWriter
from roost.testing.models.prompt import Json, Prompt, Refused
from roost.testing.models.request import ModelRequest, ProtocolName
from roost.testing.models.responses_request import read as read_responses
from roost.testing.models.responses_writer import ResponsesWriter
from roost.testing.models.writer import Writer


class Protocol(msgspec.Struct, frozen=True):
    """`caches_all` says that its vendors cache every prefix, not only what was marked."""

    path: str
    read: Callable[[Json], Prompt]
    writer: type[Writer]
    caches_all: bool


PROTOCOLS: Mapping[ProtocolName, Protocol] = {
    "chat": Protocol("/v1/chat/completions", read_chat, ChatWriter, True),
    "responses": Protocol("/v1/responses", read_responses, ResponsesWriter, True),
    "anthropic": Protocol("/v1/messages", read_anthropic, AnthropicWriter, False),
}


def read_request(request: ModelRequest) -> None:
    """Fill in what the request says. Raises `Refused` if a strict vendor would not take it."""
    try:
        request.json = msgspec.json.decode(request.body, type=Json)
    except msgspec.MsgspecError as error:
        raise Refused(f"We could not parse the JSON body of your request: {error}") from error
    if request.protocol == "anthropic" and "anthropic-version" not in request.headers:
        raise Refused("anthropic-version: header is required")
    request.prompt = PROTOCOLS[request.protocol].read(request.json)
