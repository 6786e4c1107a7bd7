"""What a server's tool answered, as a result for the model."""

import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import mcp_types as wire
import msgspec

from roost.core.ids import BlobId
from roost.core.messages import FilePart, ImagePart, TextPart
from roost.tools.base import ToolOutput

Keep: TypeAlias = Callable[[bytes, str], Awaitable[BlobId]]

LARGEST = 20_000_000
"""Bytes of one picture or file."""
_PARTS = 100
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What models can look at."""


async def output_of(result: wire.CallToolResult, keep: Keep) -> ToolOutput:
    parts = [await _part(block, keep) for block in result.content[:_PARTS]]
    if not parts and result.structured_content is not None:
        # By the specification it repeats the text, if there is any.
        parts = [_text(msgspec.json.encode(result.structured_content).decode())]
    return ToolOutput(tuple(parts or [TextPart("Done.")]), error=bool(result.is_error))


async def _part(block: wire.ContentBlock, keep: Keep) -> TextPart | ImagePart | FilePart:
    match block:
        case wire.TextContent():
            return _text(block.text)
        case wire.ImageContent() | wire.AudioContent():
            return await _kept(block.data, block.mime_type, block.type, keep)
        case wire.ResourceLink():
            return _text(f"[{block.title or block.name}: {block.uri}]")
        case wire.EmbeddedResource():
            return await _resource(block.resource, keep)


async def _resource(
    resource: wire.TextResourceContents | wire.BlobResourceContents, keep: Keep
) -> TextPart | ImagePart | FilePart:
    if isinstance(resource, wire.TextResourceContents):
        return _text(f"[{resource.uri}]\n{resource.text}")
    media_type = resource.mime_type or "application/octet-stream"
    return await _kept(resource.blob, media_type, str(resource.uri), keep)


async def _kept(
    data: str, media_type: str, name: str, keep: Keep
) -> TextPart | ImagePart | FilePart:
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return _text(f"[{name}: not readable]")
    if len(content) > LARGEST:
        return _text(f"[{name}: {len(content)} bytes, too large to keep]")
    media_type = media_type.partition(";")[0].strip().lower()
    blob = await keep(content, media_type)
    if media_type in _PICTURES:
        return ImagePart(blob, media_type)
    return FilePart(blob, media_type, name, len(content))


def _text(text: str) -> TextPart:
    return TextPart(text.encode("utf-8", "replace").decode())
