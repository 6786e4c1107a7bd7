"""A conversation with everything in it that a request can carry."""

import msgspec
import pytest

from roost.core.ids import BlobId, ToolCallId
from roost.core.messages import (
    ContextPart,
    FilePart,
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from roost.llm.base import ToolSchema
from roost.llm.render import origin
from tests.unit.llm.asking import message

PNG = b"\x89PNG pretended"
PDF = b"%PDF pretended"
PNG_64 = "iVBORyBwcmV0ZW5kZWQ="
PDF_64 = "JVBERiBwcmV0ZW5kZWQ="
BLOBS = {BlobId("png"): PNG, BlobId("pdf"): PDF, BlobId("txt"): b"Buy seeds.\n"}
IMAGE = ImagePart(BlobId("png"), "image/png", "nest.png")
SYSTEM = "You are a heron.\nStand still."
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
}
TOOLS = (
    ToolSchema("read", "Read a file.", msgspec.Raw(msgspec.json.encode(SCHEMA))),
    ToolSchema("now", "The time.", msgspec.Raw(b'{"type":"object","properties":{}}')),
)
MINE = origin("nest", "heron")
NAMED = ToolCallPart(ToolCallId("tcl_1"), "read", '{"path": "a.txt"}', "call_named")
UNNAMED = ToolCallPart(ToolCallId("tcl_2"), "now", "")
ARGUMENTS = [
    pytest.param('{ "b" : 1.0,\n"a":"\\u00fc" }', '{ "b" : 1.0,\n"a":"\\u00fc" }', id="an object"),
    pytest.param("", "{}", id="nothing"),
    pytest.param('{"a" : broken', '{"arguments":"{\\"a\\" : broken"}', id="broken"),
    pytest.param('{"a":1} {', '{"arguments":"{\\"a\\":1} {"}', id="more than one"),
    pytest.param("[1]", '{"arguments":"[1]"}', id="a list"),
    pytest.param("[" * 5000, f'{{"arguments":"{"[" * 5000}"}}', id="deep"),
]
"""What a model wrote as a call's arguments, and what OpenAI's protocols send back."""


def conversation(payload: str | None) -> tuple[Message, ...]:
    """`payload` is what the maker of the thought wants back with it."""
    return (
        message(
            "user",
            ContextPart("time", "10:00"),
            TextPart("What is this?"),
            IMAGE,
            FilePart(BlobId("pdf"), "application/pdf", "map.pdf", len(PDF)),
            FilePart(BlobId("txt"), "text/plain", "list.txt", 11),
        ),
        message(
            "assistant",
            ReasoningPart("Let me see.", payload, MINE),
            TextPart("I look."),
            NAMED,
            UNNAMED,
        ),
        message("tool", ToolResultPart(NAMED.call, (TextPart("A nest:"), IMAGE))),
        message("tool", ToolResultPart(UNNAMED.call, (TextPart("no clock"),), error=True)),
        message(
            "assistant",
            ReasoningPart("Another's thought.", "sealed", "elsewhere/egret"),
            ReasoningPart("Half a thought", None, MINE),
            TextPart("It is a nest."),
        ),
        message("note", TextPart("The user was away.")),
        message("user", TextPart("Thanks.")),
    )
