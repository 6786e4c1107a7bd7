"""What is sent to Telegram: messages, files, and other words for a message."""

import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from telegram import (
    Bot,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    Message,
    ReplyParameters,
)
from telegram.error import BadRequest, ChatMigrated

from roost.channels.base import Attachment, Button, Piece
from roost.channels.telegram.errors import is_unchanged, is_unreadable
from roost.channels.telegram.markup import render, units

LONGEST = 4096
_PHOTOS = ("image/jpeg", "image/png", "image/webp")
_LARGEST_PHOTO = 10 << 20
_ADDRESS = re.compile(r"[^:]+:(?:dm|group):(-?\d+)(?::topic:(\d+))?")
# A preview is fetched by Telegram, unasked: a link that an agent was talked into would tell others
# whatever stands in it.
_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)

_Done = TypeVar("_Done")


class Target(NamedTuple):
    chat: int
    topic: int | None


def target_of(to: str) -> Target | None:
    """None if that is no address of Telegram's."""
    found = _ADDRESS.fullmatch(to)
    return found and Target(int(found[1]), int(found[2]) if found[2] else None)


async def send(bot: Bot, to: Target, piece: Piece) -> Message:
    try:
        return await _send(bot, to, piece)
    except ChatMigrated as moved:  # a group that grew has another number from then on
        return await _send(bot, to._replace(chat=moved.new_chat_id), piece)


async def change(bot: Bot, to: Target, message: str, piece: Piece) -> None:
    async def edit(text: str, parse_mode: str | None) -> Message | bool:
        return await bot.edit_message_text(
            text,
            chat_id=to.chat,
            message_id=int(message),
            parse_mode=parse_mode,
            reply_markup=_keyboard(piece.buttons),
            link_preview_options=_NO_PREVIEW,
        )

    try:
        await _in_markup(piece.text, edit)
    except BadRequest as error:
        if not is_unchanged(error):
            raise


async def _send(bot: Bot, to: Target, piece: Piece) -> Message:
    reply = None
    if piece.reply_to is not None:
        reply = ReplyParameters(int(piece.reply_to), allow_sending_without_reply=True)
    if piece.file is not None:
        return await _send_file(bot, to, piece.file, reply)

    async def say(text: str, parse_mode: str | None) -> Message:
        return await bot.send_message(
            to.chat,
            text,
            message_thread_id=to.topic,
            parse_mode=parse_mode,
            reply_parameters=reply,
            reply_markup=_keyboard(piece.buttons),
            link_preview_options=_NO_PREVIEW,
        )

    return await _in_markup(piece.text, say)


async def _in_markup(markdown: str, call: Callable[[str, str | None], Awaitable[_Done]]) -> _Done:
    shown = render(markdown)
    # Hardly ever, but the columns of a table may need more room than was measured.
    if units(shown.text) <= LONGEST:
        try:
            return await call(shown.markup, "HTML")
        except BadRequest as error:
            if not is_unreadable(error):
                raise
    return await call(markdown, None)


async def _send_file(
    bot: Bot, to: Target, file: Attachment, reply: ReplyParameters | None
) -> Message:
    if file.media_type in _PHOTOS and len(file.data) <= _LARGEST_PHOTO:
        # Not every picture can be shown, a very wide one can't; as a file it can be had.
        with suppress(BadRequest):
            return await bot.send_photo(
                to.chat,
                file.data,
                message_thread_id=to.topic,
                reply_parameters=reply,
                filename=file.name,
            )
    return await bot.send_document(
        to.chat,
        file.data,
        message_thread_id=to.topic,
        reply_parameters=reply,
        filename=file.name,
    )


def _keyboard(buttons: Sequence[Button]) -> InlineKeyboardMarkup | None:
    """Short ones beside each other."""
    if not buttons:
        return None
    keys = [InlineKeyboardButton(button.label, callback_data=button.data) for button in buttons]
    short = sum(len(button.label) for button in buttons) <= 32
    return InlineKeyboardMarkup([keys] if short else [[key] for key in keys])
