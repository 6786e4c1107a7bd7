"""Makes of an inbound message what a turn is given: words, files, what it answers."""

from collections.abc import AsyncIterator

from roost.channels.base import Channel, Inbound, InboundFile
from roost.core.errors import Undeliverable
from roost.core.inbound import plain_name
from roost.core.messages import ContextPart, FilePart, ImagePart, Part, TextPart
from roost.runtime.account import Account

CANT_HEAR = "I can't hear voice notes yet. Please write what you said."

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_QUOTED = 1000


async def parts_of(
    channel: Channel, account: Account, inbound: Inbound, *, name: str | None, quoted: str
) -> tuple[Part, ...]:
    """What it says, in the name of whoever said it where several speak; `quoted` is what it is a
    reply to. Nothing, if all of it is a voice note."""
    notes: list[str] = []
    files: list[Part] = []
    for file in inbound.files:
        part = await _file(channel, account, file)
        if isinstance(part, str):
            notes.append(part)
        elif part is not None:
            files.append(part)
    words = "\n\n".join([text for text in (inbound.text.strip(), *notes) if text])
    if not words and not files:
        return ()
    if name is not None:
        words = f"{name}: {words}" if words else f"{name} sent this."
    context: tuple[Part, ...] = (ContextPart("reply_to", quoted[:_QUOTED]),) if quoted else ()
    return (*context, *((TextPart(words),) if words else ()), *files)


def has_voice(inbound: Inbound) -> bool:
    return any(file.kind == "voice" for file in inbound.files)


async def _file(channel: Channel, account: Account, file: InboundFile) -> Part | str | None:
    """The file, kept; or a note for the agent on why it is not here."""
    most, name = channel.limits.file_in, plain_name(file.name)
    if file.kind == "voice":
        return None
    if file.size is not None and file.size > most:
        return f"[{name} was sent, but is larger than {most // 1_000_000} MB: not received]"
    try:
        data = await channel.fetch(file)
    except Undeliverable as error:
        return f"[{name} was sent, but could not be received: {error}]"
    blob = await account.files.keep(_once(data), file.media_type)
    if blob.media_type in _PICTURES:
        return ImagePart(blob.id, blob.media_type, name)
    return FilePart(blob.id, blob.media_type, name, blob.size)


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
