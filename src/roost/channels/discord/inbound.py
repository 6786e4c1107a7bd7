"""What people do on Discord, as inbound messages."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import cast

import discord
import msgspec

from roost.core.inbound import FileKind, Inbound, InboundFile, Place, Sender, forwarded

_USER = re.compile(r"<@!?(\d+)>")
_SPOKEN = (discord.MessageType.default, discord.MessageType.reply)


class Spot(msgspec.Struct, frozen=True):
    """A chat, without the name of Roost's channel: `dm:7`, `guild:1:channel:2`,
    `guild:1:thread:3`. It names the cursor of the chat, too."""

    path: str
    name: str = ""

    @property
    def id(self) -> int:
        return int(self.path.rsplit(":", 1)[1])

    @property
    def guild(self) -> int | None:
        kind, number, *_ = self.path.split(":")
        return int(number) if kind == "guild" else None

    def place(self, channel: str, *, mentioned: bool) -> Place:
        if self.guild is None:
            return Place(f"{channel}:{self.path}", name=self.name)
        group = f"{channel}:guild:{self.guild}"
        return Place(f"{channel}:{self.path}", group, mentioned, self.name)


class Bot(msgspec.Struct, frozen=True):
    """Who Roost is there, and what it hears. `channel` is the name of the channel in Roost."""

    channel: str
    me: int

    def message(
        self, message: discord.Message, spot: Spot, *, edited: bool = False
    ) -> Inbound | None:
        """None for what no person said, and for what says nothing: without the right to read it
        all, Discord leaves out the text of what does not name the bot."""
        if message.author.bot or message.type not in _SPOKEN:
            return None
        text = self._text(message)
        files = tuple(_file(each, spot, message) for each in attachments(message))
        if not text and not files:
            return None
        mentioned = self._spoken_to(message) or text.startswith("/")
        return Inbound(
            id=_edit_id(message) if edited else str(message.id),
            message=str(message.id),
            sender=sender(message.author),
            place=spot.place(self.channel, mentioned=mentioned),
            text=text,
            files=files,
            reply_to=_replied(message),
            reply_text=_replied_text(message),
            edited=edited,
            at=_milliseconds((message.edited_at if edited else None) or message.created_at),
        )

    def interaction(self, interaction: discord.Interaction, spot: Spot) -> Inbound | None:
        """A button that was pressed, or a command that was chosen from the list."""
        data = cast("dict[str, object]", interaction.data or {})
        press = str(data["custom_id"]) if "custom_id" in data else None
        if press is None and interaction.type is not discord.InteractionType.application_command:
            return None
        message = interaction.message
        return Inbound(
            id=f"interaction:{interaction.id}",
            message=str(interaction.id if message is None else message.id),
            sender=sender(interaction.user),
            place=spot.place(self.channel, mentioned=True),
            text="" if press is not None else command_text(data),
            press=press,
            at=_milliseconds(interaction.created_at),
        )

    def _text(self, message: discord.Message) -> str:
        names = {user.id: user.display_name for user in message.mentions}

        def name(found: re.Match[str]) -> str:
            number = int(found[1])
            if number == self.me:
                return ""
            return f"@{names[number]}" if number in names else found[0]

        text = _USER.sub(name, message.content)
        for role in self._own_roles(message):
            text = text.replace(role.mention, "")
        passed_on = (forwarded(snapshot.content) for snapshot in message.message_snapshots)
        return "\n".join(part for part in (text.strip(), *passed_on) if part)

    def _spoken_to(self, message: discord.Message) -> bool:
        replied = message.reference.resolved if message.reference else None
        return (
            any(user.id == self.me for user in message.mentions)
            or bool(self._own_roles(message))
            or (isinstance(replied, discord.Message) and replied.author.id == self.me)
        )

    def _own_roles(self, message: discord.Message) -> list[discord.Role]:
        """Discord gives each bot a role of the same name; people mention either."""
        return [
            role
            for role in message.role_mentions
            if role.tags is not None and role.tags.bot_id == self.me
        ]


def sender(user: discord.User | discord.Member) -> Sender:
    return Sender(str(user.id), user.display_name)


def attachments(message: discord.Message) -> list[discord.Attachment]:
    """Those of messages that were forwarded with it, too."""
    passed_on = (each for snapshot in message.message_snapshots for each in snapshot.attachments)
    return [*message.attachments, *passed_on]


def command_text(data: dict[str, object]) -> str:
    """A command as it would be typed."""
    options = cast("Iterable[dict[str, object]]", data.get("options", ()))
    return " ".join([f"/{data['name']}", *(str(option.get("value", "")) for option in options)])


def _file(attachment: discord.Attachment, spot: Spot, message: discord.Message) -> InboundFile:
    """Addresses of files expire within a day, so that a file is found by its message."""
    media_type = (attachment.content_type or "application/octet-stream").partition(";")[0]
    kind: FileKind = "image" if media_type.startswith("image/") else "file"
    return InboundFile(
        ref=f"{spot.id}/{message.id}/{attachment.id}",
        name=attachment.filename,
        media_type=media_type,
        kind="voice" if attachment.is_voice_message() else kind,
        size=attachment.size,
    )


def _replied(message: discord.Message) -> str | None:
    if message.type is not discord.MessageType.reply or message.reference is None:
        return None
    return None if message.reference.message_id is None else str(message.reference.message_id)


def _replied_text(message: discord.Message) -> str:
    replied = message.reference.resolved if message.reference else None
    return replied.content if isinstance(replied, discord.Message) else ""


def _edit_id(message: discord.Message) -> str:
    return f"{message.id}:{_milliseconds(message.edited_at or message.created_at)}"


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
