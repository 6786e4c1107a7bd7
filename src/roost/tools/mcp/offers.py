"""What a server offers, told to a model: by a name and a schema that every vendor takes."""

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, cast

import msgspec
import structlog

from roost.llm.base import ToolSchema

log = structlog.stdlib.get_logger("roost.mcp")

LONGEST_NAME = 64
DESCRIPTION = 2000
"""Characters. What is sent with every request has to stay small."""
PARAMETERS = 16_000
"""Bytes of JSON."""

_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]+")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_LEFT_OUT = frozenset({"$schema", "$id", "title", "anyOf", "oneOf", "allOf", "not", "enum"})
"""Words at the top of a schema that a vendor refuses, or that tell a model nothing. The server
still checks what it gets."""


class Offer(msgspec.Struct, frozen=True):
    """A tool as its server told of it. `read_only` is the server's own claim."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    read_only: bool = False


def named(server: str, tool: str) -> str:
    """`mcp_<server>_<tool>`, of the characters and the length that are allowed; where something had
    to go, a hash of the whole tells it from others that look alike."""
    whole = f"mcp_{server}_{tool}"
    name = _FOREIGN.sub("_", whole)
    if name == whole and len(name) <= LONGEST_NAME:
        return name
    return distinct(name, server, tool)


def distinct(name: str, server: str, tool: str) -> str:
    digest = blake2b(f"{server}\0{tool}".encode(), digest_size=4).hexdigest()
    return f"{name[: LONGEST_NAME - len(digest) - 1]}_{digest}"


def schema_of(server: str, offer: Offer) -> ToolSchema | None:
    """None, with a line in the log, if no model could be told: one schema that a vendor refuses
    would spoil every request."""
    parameters = _parameters(offer.parameters)
    written = b"" if parameters is None else msgspec.json.encode(parameters)
    if parameters is None or len(written) > PARAMETERS:
        why = "its schema is no object" if parameters is None else "its schema is too large"
        log.warning("a tool is left out", server=server, tool=offer.name[:100], why=why)
        return None
    description = (offer.description.strip() or offer.name)[:DESCRIPTION]
    clean = description.encode("utf-8", "replace").decode()
    return ToolSchema(named(server, offer.name), clean, msgspec.Raw(written))


def _parameters(given: Mapping[str, Any]) -> dict[str, Any] | None:
    if given.get("type", "object") != "object":
        return None
    properties = given.get("properties", {})
    if not isinstance(properties, dict):
        return None
    names = cast("dict[str, Any]", properties)
    if not all(_PROPERTY.fullmatch(name) for name in names):
        return None
    kept = {word: value for word, value in given.items() if word not in _LEFT_OUT}
    return {**kept, "type": "object", "properties": properties}
