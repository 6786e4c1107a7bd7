"""Discord in a box: what people do there, and what of it can go wrong. See `discord_server` for how
a bot reaches it."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from tests.fakes.discord_gateway import Gateway

Json = dict[str, Any]

EPOCH = 1_420_070_400_000
ALL_RIGHTS = str((1 << 53) - 1)
ME = "900"
TEXT, DM, THREAD = 0, 1, 11


class Trouble(msgspec.Struct, frozen=True):
    """What a call meets: an answer of that status; `done` if what it asks for is done all the same,
    and `cut` if the line goes dead instead of an answer."""

    status: int = 503
    retry_after: float = 0
    done: bool = False
    cut: bool = False
    path: str = ""


class Upload(msgspec.Struct, frozen=True):
    name: str
    media_type: str
    data: bytes
    voice: bool = False


class FakeDiscord:
    """Everything that is said, in all chats; outlives any bot."""

    token = "fake-bot-token"  # noqa: S105 (it opens nothing)

    def __init__(self) -> None:
        self.gateway = Gateway(self)
        self.me = _user(ME, "roostbot", bot=True)
        self.url = ""
        self.users: dict[str, Json] = {ME: self.me}
        self.channels: dict[str, Json] = {}
        self.guilds: dict[str, Json] = {}
        self.messages: dict[str, list[Json]] = {}
        self.nonces: dict[tuple[str, str], str] = {}
        self.files: dict[str, bytes] = {}
        self.interactions: dict[str, Json] = {}
        """What the bot answered to each, by its id; None before it did."""
        self.commands: list[Json] = []
        self.typed: list[str] = []
        self.calls: list[str] = []
        self.trouble: deque[Trouble] = deque()
        self.rate: tuple[int, float] | None = None
        """Messages that a chat takes in so many seconds."""
        self.posts: dict[str, deque[float]] = {}
        self.all_messages = True
        """Whether the bot may read what does not name it."""
        self.changed = asyncio.Condition()
        self._last = (int(time.time() * 1000) - EPOCH) << 22

    def snowflake(self) -> str:
        self._last += 1
        return str(self._last)

    # Places and people

    def person(self, name: str, *, id: str | None = None) -> str:
        user = _user(id or self.snowflake(), name)
        self.users[user["id"]] = user
        return user["id"]

    def dm(self, user: str) -> str:
        return self._channel({"type": DM, "recipients": [self.users[user]]})

    def guild(self, name: str = "Home") -> str:
        """With the bot in it, and told to it if it is there."""
        guild = self.snowflake()
        everyone = {"id": guild, "name": "@everyone", "permissions": ALL_RIGHTS, **_ROLE}
        own = {"id": self.snowflake(), "name": "roostbot", "permissions": "0", **_ROLE}
        own["tags"] = {"bot_id": ME}
        self.guilds[guild] = {"id": guild, "name": name, "roles": [everyone, own], **_GUILD}
        return guild

    def text_channel(self, guild: str, name: str = "general") -> str:
        return self._channel({"type": TEXT, "guild_id": guild, "name": name, **_CHANNEL})

    async def thread(self, channel: str, name: str = "aside") -> str:
        guild = self.channels[channel]["guild_id"]
        thread = self._channel(
            {
                "type": THREAD,
                "guild_id": guild,
                "parent_id": channel,
                "name": name,
                "owner_id": ME,
                "thread_metadata": _THREAD,
                "message_count": 0,
                "member_count": 1,
            }
        )
        await self.gateway.dispatch(
            "THREAD_CREATE", {**self.channels[thread], "newly_created": True}
        )
        return thread

    def whole_guild(self, guild: str) -> Json:
        """As GUILD_CREATE tells it."""
        here = [each for each in self.channels.values() if each.get("guild_id") == guild]
        return {
            **self.guilds[guild],
            "channels": [each for each in here if each["type"] == TEXT],
            "threads": [each for each in here if each["type"] == THREAD],
            "members": [{"user": self.me, **_MEMBER}],
        }

    # What people do

    async def say(
        self,
        user: str,
        channel: str,
        text: str,
        *,
        files: Sequence[Upload] = (),
        reply_to: str | None = None,
        forwarded: Sequence[str] = (),
    ) -> str:
        """Someone writes; `<@900>` names the bot."""
        message = self.message(user, channel, text)
        snapshots = [{"message": self.message(user, channel, each)} for each in forwarded]
        message["message_snapshots"] = snapshots
        message["attachments"] = [self._attached(channel, file) for file in files]
        if reply_to is not None:
            reference = {"message_id": reply_to, "channel_id": channel}
            message |= {"type": 19, "message_reference": reference}
            message["referenced_message"] = self.find(reply_to)
        await self.keep(message)
        return message["id"]

    async def change(self, message: str, text: str) -> None:
        said = self.find(message)
        said["content"] = text
        said["edited_timestamp"] = _now()
        await self.gateway.dispatch("MESSAGE_UPDATE", self.shown(said))

    async def preview(self, message: str) -> None:
        """A link in a message is looked up, which Discord tells as an edit without a time."""
        await self.gateway.dispatch("MESSAGE_UPDATE", self.shown(self.find(message)))

    async def press(self, user: str, message: str, label: str) -> str:
        said = self.find(message)
        buttons = [button for row in said["components"] for button in row["components"]]
        (custom_id,) = [each["custom_id"] for each in buttons if each["label"] == label]
        data = {"custom_id": custom_id, "component_type": 2}
        return await self._interact(user, said["channel_id"], 3, data, message=self.shown(said))

    async def choose(self, user: str, channel: str, name: str, /, **options: str) -> str:
        """Someone takes a command from the list."""
        given = [{"name": key, "type": 3, "value": value} for key, value in options.items()]
        data = {"id": self.snowflake(), "type": 1, "name": name, "options": given}
        return await self._interact(user, channel, 2, data)

    # What is there

    def find(self, message: str) -> Json:
        return next(
            each for said in self.messages.values() for each in said if each["id"] == message
        )

    def has(self, message: str) -> bool:
        return any(each["id"] == message for said in self.messages.values() for each in said)

    def texts(self, channel: str) -> list[str]:
        """What the bot said there."""
        return [each["content"] for each in self.messages[channel] if each["author"]["id"] == ME]

    def said(self) -> list[Json]:
        """What the bot said, anywhere, in order."""
        own = [
            each for said in self.messages.values() for each in said if each["author"] is self.me
        ]
        return sorted(own, key=lambda message: int(message["id"]))

    async def until(self, happened: Callable[[], object], *, within: float = 60) -> None:
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(happened), timeout=within)

    async def tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    def message(self, user: str, channel: str, text: str) -> Json:
        named = [each for id, each in self.users.items() if f"<@{id}>" in text]
        guild = self.channels[channel].get("guild_id")
        return {
            "id": self.snowflake(),
            "channel_id": channel,
            **({} if guild is None else {"guild_id": guild}),
            "author": self.users[user],
            "content": text,
            "timestamp": _now(),
            "edited_timestamp": None,
            "mentions": named,
            "mention_roles": [],
            "attachments": [],
            "components": [],
            **_MESSAGE,
        }

    async def keep(self, message: Json) -> None:
        channel = message["channel_id"]
        self.messages[channel].append(message)
        self.channels[channel]["last_message_id"] = message["id"]
        await self.gateway.dispatch("MESSAGE_CREATE", self.shown(message))
        await self.tell()

    def shown(self, message: Json) -> Json:
        """What the bot is told: not everything is for it to read."""
        named = any(user["id"] == ME for user in message["mentions"])
        own = message["author"]["id"] == ME
        if self.all_messages or named or own or "guild_id" not in message:
            return message
        return {**message, "content": "", "attachments": [], "components": []}

    def _channel(self, channel: Json) -> str:
        channel = {"id": self.snowflake(), "last_message_id": None, **channel}
        self.channels[channel["id"]] = channel
        self.messages[channel["id"]] = []
        return channel["id"]

    def _attached(self, channel: str, file: Upload) -> Json:
        number = self.snowflake()
        path = f"/attachments/{channel}/{number}/{file.name}"
        self.files[path] = file.data
        voice = {"duration_secs": 1.5, "waveform": "AA=="} if file.voice else {}
        return {
            "id": number,
            "filename": file.name,
            "content_type": file.media_type,
            "size": len(file.data),
            "url": self.url + path,
            "proxy_url": self.url + path,
            **voice,
        }

    async def _interact(
        self, user: str, channel: str, kind: int, data: Json, **more: object
    ) -> str:
        number = self.snowflake()
        guild = self.channels[channel].get("guild_id")
        who: Json = {"user": self.users[user]}
        if guild is not None:
            member = {**who, "permissions": ALL_RIGHTS, **_MEMBER}
            who = {"guild_id": guild, "guild": {"id": guild}, "member": member}
        await self.gateway.dispatch(
            "INTERACTION_CREATE",
            {
                "id": number,
                "application_id": ME,
                "type": kind,
                "data": data,
                "channel_id": channel,
                "channel": self.channels[channel],
                "token": f"token-{number}",
                "version": 1,
                "attachment_size_limit": 10 << 20,
                **who,
                **more,
            },
        )
        return number


def _user(id: str, name: str, *, bot: bool = False) -> Json:
    return {"id": id, "username": name, "discriminator": "0", "avatar": None, "bot": bot}


def _now() -> str:
    return datetime.now(UTC).isoformat()


_MESSAGE: Json = {"type": 0, "tts": False, "mention_everyone": False, "embeds": [], "pinned": False}
_CHANNEL: Json = {"position": 0, "permission_overwrites": [], "nsfw": False, "parent_id": None}
_THREAD: Json = {
    "archived": False,
    "auto_archive_duration": 1440,
    "archive_timestamp": "2026-01-01T00:00:00+00:00",
    "locked": False,
}
_MEMBER: Json = {
    "roles": [],
    "joined_at": "2026-01-01T00:00:00+00:00",
    "deaf": False,
    "mute": False,
    "flags": 0,
}
_ROLE: Json = {"color": 0, "hoist": False, "position": 0, "managed": False, "mentionable": True}
_GUILD: Json = {
    "owner_id": "1",
    "afk_timeout": 300,
    "verification_level": 0,
    "default_message_notifications": 0,
    "explicit_content_filter": 0,
    "emojis": [],
    "stickers": [],
    "features": [],
    "mfa_level": 0,
    "system_channel_flags": 0,
    "premium_tier": 0,
    "preferred_locale": "en-US",
    "nsfw_level": 0,
    "member_count": 2,
    "large": False,
    "unavailable": False,
    "voice_states": [],
    "presences": [],
    "stage_instances": [],
    "guild_scheduled_events": [],
    "premium_progress_bar_enabled": False,
}
