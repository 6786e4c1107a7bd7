"""What a Telegram message holds: words, files, what it replies to."""

from collections.abc import Callable, Iterable, Sequence

from telegram import Animation, Audio, Document, Message, MessageEntity, Video

from roost.core.inbound import InboundFile

_NOT_READ = ("poll", "location", "venue", "contact", "dice", "story", "game", "paid_media")


def written(message: Message) -> tuple[str, Sequence[MessageEntity]]:
    if message.text is not None:
        return message.text, message.entities
    return message.caption or "", message.caption_entities


def marked(text: str, entity: MessageEntity) -> str:
    """The part of the text that an entity is about. They count in UTF-16."""
    return text.encode("utf-16-le")[_reach(entity)].decode("utf-16-le")


def rewritten(
    text: str,
    entities: Iterable[MessageEntity],
    change: Callable[[MessageEntity, str], str | None],
) -> str:
    """The text with some of the marked parts changed; None leaves one as it is."""
    encoded = text.encode("utf-16-le")
    before = len(encoded)
    for entity in sorted(entities, key=lambda entity: entity.offset, reverse=True):
        changed = change(entity, marked(text, entity))
        reach = _reach(entity)
        if changed is not None and reach.stop <= before:
            encoded = encoded[: reach.start] + changed.encode("utf-16-le") + encoded[reach.stop :]
            before = reach.start
    return encoded.decode("utf-16-le").strip()


def as_markdown(entity: MessageEntity, part: str) -> str | None:
    """What would be lost without its mark; emphasis is not worth it."""
    match entity.type:
        case MessageEntity.TEXT_LINK:
            return f"[{part}]({entity.url})"
        case MessageEntity.PRE:
            return f"```{entity.language or ''}\n{part}\n```"
        case MessageEntity.CODE:
            return f"`{part}`"
        case _:
            return None


def in_words(message: Message) -> str:
    """Something that is neither text nor a file."""
    if message.sticker is not None:
        return message.sticker.emoji or "(a sticker)"
    kind = next((kind for kind in _NOT_READ if message[kind] is not None), None)
    return "" if kind is None else f"({kind.replace('_', ' ')}: Roost can't read that)"


def files(message: Message) -> tuple[InboundFile, ...]:
    number = message.message_id
    if message.photo:
        photo = message.photo[-1]  # the same picture in several sizes, the largest last
        name = f"photo-{number}.jpg"
        return (InboundFile(photo.file_id, name, "image/jpeg", "image", photo.file_size),)
    if (voice := message.voice) is not None:
        name, kind = f"voice-{number}.ogg", voice.mime_type or "audio/ogg"
        return (InboundFile(voice.file_id, name, kind, "voice", voice.file_size),)
    if (note := message.video_note) is not None:
        return (
            InboundFile(note.file_id, f"note-{number}.mp4", "video/mp4", "voice", note.file_size),
        )
    # An animation has a document beside it, for programs that don't know animations.
    found = message.animation or message.document or message.video or message.audio
    return () if found is None else (_file(found, number),)


def _file(found: Animation | Document | Video | Audio, number: int) -> InboundFile:
    media_type = found.mime_type or "application/octet-stream"
    name = found.file_name or f"file-{number}"
    kind = "image" if media_type.startswith("image/") else "file"
    return InboundFile(found.file_id, name, media_type, kind, found.file_size)


def replied_to(message: Message) -> Message | None:
    """The first message of a topic replies to what opened the topic, which nobody said."""
    replied = message.reply_to_message
    return None if replied is None or replied.forum_topic_created is not None else replied


def reply_text(message: Message) -> str:
    """The words that are replied to: those that were picked, or else all."""
    if message.quote is not None:
        return message.quote.text
    replied = replied_to(message)
    return "" if replied is None else replied.text or replied.caption or in_words(replied)


def _reach(entity: MessageEntity) -> slice:
    return slice(2 * entity.offset, 2 * (entity.offset + entity.length))
