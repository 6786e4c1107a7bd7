"""Telegram's updates as inbound messages."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from telegram import (
    CallbackQuery,
    Chat,
    MaybeInaccessibleMessage,
    Message,
    MessageEntity,
    Update,
    User,
)

from roost.channels.telegram import content
from roost.core.inbound import Inbound, Place, Sender, forwarded

KINDS = ("message", "edited_message", "callback_query")
"""The updates that are asked for."""


class Reader:
    """Reads for one bot, `me`, of the channel `name`."""

    def __init__(self, name: str, me: User) -> None:
        self._name = name
        self._me = me

    def read(self, updates: Sequence[Update]) -> list[Inbound]:
        """What is not for the bot is left out. An album is one message, although each of its
        pictures is an update."""
        found: dict[object, Inbound] = {}
        for update in updates:
            inbound = self._inbound(update)
            if inbound is None:
                continue
            album = album_of(update)
            key = inbound.id if album is None else (inbound.place.address, album)
            found[key] = _joined(found[key], inbound) if key in found else inbound
        return list(found.values())

    def _inbound(self, update: Update) -> Inbound | None:
        # Another token may be another bot, whose updates have the same numbers.
        id = f"{self._me.id}:{update.update_id}"
        if update.callback_query is not None:
            return self._pressed(id, update.callback_query)
        message = update.message or update.edited_message
        if message is None or message.is_automatic_forward:
            return None
        return self._said(id, message, edited=update.edited_message is not None)

    def _said(self, id: str, message: Message, *, edited: bool) -> Inbound | None:
        sender = _sender(message)
        text = self._text(message)
        files = content.files(message)
        if sender is None or self._is_for_another(message) or not (text or files):
            return None
        replied = content.replied_to(message)
        return Inbound(
            id=id,
            message=str(message.message_id),
            sender=sender,
            place=self._place(message, sender, mentioned=self._is_mentioned(message)),
            text=text,
            files=files,
            reply_to=None if replied is None else str(replied.message_id),
            reply_text=content.reply_text(message),
            edited=edited,
            at=_milliseconds(message.edit_date or message.date),
        )

    def _pressed(self, id: str, query: CallbackQuery) -> Inbound | None:
        if query.message is None or query.data is None:
            return None
        sender = Sender(str(query.from_user.id), query.from_user.full_name)
        return Inbound(
            id=id,
            message=str(query.message.message_id),
            sender=sender,
            place=self._place(query.message, sender, mentioned=True),
            press=query.data,
        )

    def _place(
        self, message: MaybeInaccessibleMessage, sender: Sender, *, mentioned: bool
    ) -> Place:
        chat, topic = message.chat, ""
        # Outside of topics a thread is only a row of replies.
        if isinstance(message, Message) and message.is_topic_message:
            topic = f":topic:{message.message_thread_id}"
        if chat.type == Chat.PRIVATE:
            return Place(f"{self._name}:dm:{chat.id}{topic}", name=sender.name)
        group = f"{self._name}:group:{chat.id}"
        return Place(f"{group}{topic}", group, mentioned, chat.title or "")

    def _text(self, message: Message) -> str:
        text, entities = content.written(message)
        said = content.rewritten(text, entities, self._change) or content.in_words(message)
        return said if message.forward_origin is None else forwarded(said)

    def _change(self, entity: MessageEntity, part: str) -> str | None:
        if entity.type == MessageEntity.BOT_COMMAND:
            command = part.partition("@")[0]
            # Telegram's own: the button under which a chat begins.
            return "/help" if command == "/start" else command
        return "" if self._names_me(entity, part) else content.as_markdown(entity, part)

    def _is_mentioned(self, message: Message) -> bool:
        replied = content.replied_to(message)
        if replied is not None and replied.from_user == self._me:
            return True
        text, entities = content.written(message)
        return _command(message) is not None or any(
            self._names_me(entity, content.marked(text, entity)) for entity in entities
        )

    def _names_me(self, entity: MessageEntity, part: str) -> bool:
        if entity.type == MessageEntity.MENTION:
            return part.lower() == f"@{self._me.username}".lower()
        return entity.user is not None and entity.user.id == self._me.id

    def _is_for_another(self, message: Message) -> bool:
        """Several bots in a group may have the same commands: `/help@other_bot`."""
        bot = (_command(message) or "").partition("@")[2]
        return bool(bot) and bot.lower() != (self._me.username or "").lower()


def album_of(update: Update) -> str | None:
    return None if update.message is None else update.message.media_group_id


def _joined(first: Inbound, more: Inbound) -> Inbound:
    """Only one picture of an album has words, as a rule the first."""
    mentioned = first.place.mentioned or more.place.mentioned
    return msgspec.structs.replace(
        first,
        text="\n\n".join(filter(None, (first.text, more.text))),
        files=first.files + more.files,
        place=msgspec.structs.replace(first.place, mentioned=mentioned),
    )


def _command(message: Message) -> str | None:
    text, entities = content.written(message)
    first = next((entity for entity in entities if entity.offset == 0), None)
    is_command = first is not None and first.type == MessageEntity.BOT_COMMAND
    return content.marked(text, first) if first is not None and is_command else None


def _sender(message: Message) -> Sender | None:
    # Whoever speaks for a chat has the same stand-in as all others who do, in any chat: only the
    # chat tells them apart.
    if (chat := message.sender_chat) is not None:
        return Sender(str(chat.id), chat.title or "")
    user = message.from_user
    return None if user is None or user.is_bot else Sender(str(user.id), user.full_name)


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)
