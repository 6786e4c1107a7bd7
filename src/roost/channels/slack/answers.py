"""What Slack's Web API answers, as far as Roost looks at it. What is empty is left out, or null."""

import contextlib
from collections.abc import Mapping
from typing import Any

import msgspec

from roost.channels.slack.events import Message

METADATA = "roost_piece"
"""The type of the metadata that Roost's messages carry."""


class Identity(msgspec.Struct, frozen=True):
    team_id: str
    user_id: str
    user: str
    bot_id: str | None = None


class Done(msgspec.Struct, frozen=True):
    pass


class Socket(msgspec.Struct, frozen=True):
    url: str


class Posted(msgspec.Struct, frozen=True):
    ts: str


class Named(msgspec.Struct, frozen=True):
    id: str


class Completed(msgspec.Struct, frozen=True):
    files: tuple[Named, ...]


class FileInfo(msgspec.Struct, frozen=True):
    class File(msgspec.Struct, frozen=True):
        url_private_download: str | None = None
        url_private: str | None = None
        mimetype: str | None = None

    file: File


class UserInfo(msgspec.Struct, frozen=True):
    class User(msgspec.Struct, frozen=True):
        class Profile(msgspec.Struct, frozen=True):
            display_name: str | None = None
            real_name: str | None = None

        name: str | None = None
        profile: Profile = Profile()

    user: User


class Sent(Message, frozen=True, kw_only=True):
    class Metadata(msgspec.Struct, frozen=True):
        event_type: str = ""
        event_payload: Mapping[str, Any] = {}

    metadata: Metadata | None = None

    @property
    def key(self) -> str | None:
        """Under which Roost sent it."""
        if self.metadata is None or self.metadata.event_type != METADATA:
            return None
        return str(self.metadata.event_payload.get("key"))


class Rest(msgspec.Struct, frozen=True):
    next_cursor: str | None = None


class Pages(msgspec.Struct, frozen=True, kw_only=True):
    response_metadata: Rest | None = None

    @property
    def next(self) -> str:
        """The cursor of the page after it."""
        return (self.response_metadata and self.response_metadata.next_cursor) or ""


class History(Pages, frozen=True):
    messages: tuple[Any, ...]

    def read(self) -> list[Sent]:
        """One message that can't be read does not hide the others."""
        found: list[Sent] = []
        for message in self.messages:
            with contextlib.suppress(msgspec.ValidationError):
                found.append(msgspec.convert(message, Sent))
        return [message for message in found if message.ts]


class Conversations(Pages, frozen=True):
    channels: tuple[Named, ...]
