"""What Slack sends, as inbound messages: messages, mentions, edits, slash commands, buttons."""

from collections.abc import Mapping
from typing import Any

import msgspec

from roost.channels.base import COMMANDS, Inbound, InboundFile
from roost.channels.slack.markup import from_mrkdwn
from roost.core.inbound import FileKind, Place, Sender

_SAID = frozenset({None, "file_share", "thread_broadcast", "me_message"})
_SLACKBOT = "USLACKBOT"
_NAMES = frozenset(command.name for command in COMMANDS)


class _File(msgspec.Struct, frozen=True):
    id: str
    name: str | None = None
    mimetype: str | None = None
    size: int | None = None
    mode: str | None = None
    subtype: str | None = None


class _Edited(msgspec.Struct, frozen=True):
    ts: str


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message, in an event or in a conversation's history."""

    ts: str = ""
    user: str | None = None
    text: str | None = None
    subtype: str | None = None
    bot_id: str | None = None
    thread_ts: str | None = None
    parent_user_id: str | None = None
    latest_reply: str | None = None
    files: tuple[_File, ...] = ()
    edited: _Edited | None = None


class _Event(Message, frozen=True, kw_only=True):
    type: str
    channel: Any = None
    """Events of other types have other things there."""
    message: Message | None = None
    previous_message: Message | None = None


class _Callback(msgspec.Struct, frozen=True):
    event: _Event
    team_id: str = ""


class _Named(msgspec.Struct, frozen=True):
    id: str
    name: str = ""
    username: str = ""


class _Container(msgspec.Struct, frozen=True):
    channel_id: str
    message_ts: str
    thread_ts: str | None = None


class _Action(msgspec.Struct, frozen=True):
    action_ts: str
    value: str | None = None


class _Press(msgspec.Struct, frozen=True):
    user: _Named
    container: _Container
    actions: tuple[_Action, ...]
    team: _Named | None = None


class _SlashCommand(msgspec.Struct, frozen=True):
    command: str
    user_id: str
    channel_id: str
    trigger_id: str
    team_id: str = ""
    text: str = ""
    user_name: str = ""
    channel_name: str = ""


class Bot(msgspec.Struct, frozen=True):
    """Who Roost is there. `channel` is the name of the channel in Roost."""

    channel: str
    team: str
    user: str
    id: str | None
    name: str

    def event(self, body: Mapping[str, object]) -> Inbound | None:
        """None for all that nobody said to the bot. Slack tells of a mention twice, as a mention
        and as a message: both have the same id."""
        called = msgspec.convert(body, _Callback)
        event = called.event
        if event.type not in ("message", "app_mention") or not isinstance(event.channel, str):
            return None
        team = called.team_id or self.team
        if event.subtype == "message_changed":
            return self._edit(team, event.channel, event)
        return self.message(team, event.channel, event)

    def message(self, team: str, conversation: str, said: Message) -> Inbound | None:
        if said.subtype not in _SAID or not self._by_a_person(said):
            return None
        user = said.user or ""
        text = from_mrkdwn(said.text or "", bot=self.user)
        in_thread = said.thread_ts if said.thread_ts != said.ts else None
        return Inbound(
            id=f"{conversation}:{said.ts}",
            message=said.ts,
            sender=Sender(user, user),
            place=self._place(team, conversation, said),
            text=_as_command(text),
            files=tuple(_file(each) for each in said.files if each.mode != "tombstone"),
            reply_to=in_thread,
            at=_milliseconds(said.ts),
        )

    def press(self, body: Mapping[str, object]) -> Inbound | None:
        press = msgspec.convert(body, _Press)
        action, container = press.actions[0], press.container
        if action.value is None:
            return None
        team = self.team if press.team is None else press.team.id
        said = Message(ts=container.message_ts, thread_ts=container.thread_ts)
        place = self._place(team, container.channel_id, said)
        return Inbound(
            id=f"{container.channel_id}:{container.message_ts}:{press.user.id}:{action.action_ts}",
            message=container.message_ts,
            sender=Sender(press.user.id, press.user.username or press.user.name or press.user.id),
            place=msgspec.structs.replace(place, mentioned=True),
            press=action.value,
            at=_milliseconds(action.action_ts),
        )

    def command(self, body: Mapping[str, object], *, now: int) -> Inbound:
        """`/new`, or `/roost new` where an app has one command only. Anything else is said to the
        bot. Slack has no slash commands in threads."""
        given = msgspec.convert(body, _SlashCommand)
        name = given.command.removeprefix("/")
        words = f"{name} {given.text}".strip() if name in _NAMES else given.text.strip() or "help"
        text = f"/{words}" if words.split(maxsplit=1)[0] in _NAMES else words
        team = given.team_id or self.team
        group = None
        address = f"{self.channel}:team:{team}:dm:{given.channel_id}"
        if not _is_dm(given.channel_id):
            group = address = f"{self.channel}:team:{team}:channel:{given.channel_id}"
        return Inbound(
            id=f"command:{given.trigger_id}",
            message=f"command:{given.trigger_id}",
            sender=Sender(given.user_id, given.user_name or given.user_id),
            place=Place(address, group, name=given.channel_name if group else ""),
            text=text,
            at=now,
        )

    def _edit(self, team: str, conversation: str, event: _Event) -> Inbound | None:
        """Slack also changes messages itself, to show what is behind a link."""
        said, before = event.message, event.previous_message
        if said is None or said.edited is None or (before and before.text == said.text):
            return None
        inbound = self.message(team, conversation, said)
        if inbound is None:
            return None
        name = f"{inbound.id}:{said.edited.ts}"
        return msgspec.structs.replace(inbound, id=name, edited=True)

    def _by_a_person(self, said: Message) -> bool:
        return bool(said.user) and not said.bot_id and said.user not in (self.user, _SLACKBOT)

    def _place(self, team: str, conversation: str, said: Message) -> Place:
        if _is_dm(conversation):
            in_thread = said.thread_ts not in (None, said.ts)
            thread = f":thread:{said.thread_ts}" if in_thread else ""
            return Place(f"{self.channel}:team:{team}:dm:{conversation}{thread}")
        group = f"{self.channel}:team:{team}:channel:{conversation}"
        text = said.text or ""
        named = f"<@{self.user}>" in text or f"<@{self.user}|" in text
        mentioned = named or said.parent_user_id == self.user
        return Place(f"{group}:thread:{said.thread_ts or said.ts}", group, mentioned)


def _is_dm(conversation: str) -> bool:
    return conversation.startswith("D")


def _as_command(text: str) -> str:
    """Slack keeps what begins with `/` to itself; `!new` says the same, in threads too."""
    word = text[1:].split(maxsplit=1)[:1] if text.startswith("!") else []
    return f"/{text[1:]}" if word and word[0] in _NAMES else text


def _file(file: _File) -> InboundFile:
    media_type = file.mimetype or "application/octet-stream"
    kind: FileKind = "file"
    if file.subtype == "slack_audio":
        kind = "voice"
    elif media_type.startswith("image/"):
        kind = "image"
    return InboundFile(file.id, file.name or file.id, media_type, kind, file.size)


def _milliseconds(ts: str) -> int:
    seconds, _, micros = ts.partition(".")
    return int(seconds) * 1000 + int((micros or "0")[:3].ljust(3, "0"))


class Address(msgspec.Struct, frozen=True):
    """A conversation, and the thread in it."""

    conversation: str
    thread: str | None = None


def address_of(to: str) -> Address:
    """What `slack:team:T1:channel:C2:thread:9.1` leads to."""
    words = to.split(":")
    named = dict(zip(words[1::2], words[2::2], strict=False))
    return Address(named.get("channel") or named.get("dm") or "", named.get("thread"))
