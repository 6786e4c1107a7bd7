"""The channels of a running server and who may talk over them, with the methods of
`roost.runtime.switchboard.Switchboard` and `roost.runtime.contacts.Contacts` that the command line
needs."""

from collections.abc import Mapping, Sequence

import msgspec

from roost.client.connection import Ask, Connection, path
from roost.core.config import ChannelSetup
from roost.core.errors import NotFound
from roost.core.ids import SessionId, TurnId, UserId
from roost.core.keys import Key
from roost.core.settings import Choice, GroupsName, MembersName, ResetRule, ScopeName, SharingName
from roost.runtime.contacts import Undelivered
from roost.runtime.switchboard import Condition, Known, Status
from roost.store.pairings import Pairing, PairingState


class _SentChannel(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: str
    configured: bool
    groups: GroupsName
    members: MembersName
    sessions: SharingName
    reset: str
    allow: tuple[str, ...]
    block: tuple[str, ...]
    paused: Choice
    options: tuple[str, ...]
    condition: Condition
    since: int
    bot: str | None
    detail: str | None
    received: int
    waiting: int
    undelivered: int

    def made(self) -> Known:
        setup = ChannelSetup(
            kind=ScopeName(self.kind),
            groups=self.groups,
            members=self.members,
            sessions=self.sessions,
            reset=ResetRule(self.reset),
            allow=self.allow,
            block=self.block,
            paused=self.paused,
        )
        status = Status(
            condition=self.condition, since=self.since, bot=self.bot, detail=self.detail
        )
        return Known(
            name=self.name,
            kind=self.kind,
            configured=self.configured,
            setup=setup,
            options=self.options,
            status=status,
            received=self.received,
            waiting=self.waiting,
            undelivered=self.undelivered,
        )


class _Channels(msgspec.Struct, frozen=True):
    channels: tuple[_SentChannel, ...]


class _SentPairing(msgspec.Struct, frozen=True, kw_only=True):
    channel: str
    sender: str
    user: UserId | None
    state: PairingState
    name: str | None
    created_at: int
    expires_at: int | None

    def made(self) -> Pairing:
        """Who decided, and when, is not said."""
        return Pairing(
            self.channel,
            self.sender,
            self.user,
            self.state,
            self.name,
            self.created_at,
            self.expires_at,
            None,
            None,
        )


class _Pairings(msgspec.Struct, frozen=True):
    pairings: tuple[_SentPairing, ...]


class _SentUndelivered(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    route: str
    session: SessionId | None
    turn: TurnId | None
    text: str
    error: str
    tries: int
    created_at: int


class _Undelivered(msgspec.Struct, frozen=True):
    messages: tuple[_SentUndelivered, ...]


class Switchboard:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> Sequence[Known]:
        found = await self._connection.ask(Ask("GET", path("channels"), again=True), _Channels)
        return [each.made() for each in found.channels]

    async def get(self, name: str) -> Known:
        for known in await self.all():
            if known.name == name:
                return known
        raise NotFound("channel", name)

    async def put(self, name: str, setup: ChannelSetup, options: Mapping[str, Key | None]) -> Known:
        given = {option: None if key is None else key.reveal() for option, key in options.items()}
        body = {**msgspec.structs.asdict(setup), "options": given}
        asked = Ask("PUT", path("channels", name), body=body, again=True)
        return (await self._connection.ask(asked, _SentChannel)).made()

    async def remove(self, name: str) -> None:
        await self._connection.fetch(Ask("DELETE", path("channels", name)))


class Contacts:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def pairings(self, channel: str | None = None) -> Sequence[Pairing]:
        found = await self._connection.ask(Ask("GET", path("pairings"), again=True), _Pairings)
        made = [each.made() for each in found.pairings]
        return [each for each in made if channel in (None, each.channel)]

    async def approve(self, code: str, user: UserId, *, by: str) -> Pairing:
        """The server knows who asks."""
        asked = Ask("POST", path("pairings", "approve"), body={"code": code, "user": user})
        return (await self._connection.ask(asked, _SentPairing)).made()

    async def block(self, channel: str, sender: str, *, by: str) -> Pairing:
        body = {"channel": channel, "sender": sender}
        asked = Ask("POST", path("pairings", "block"), body=body, again=True)
        return (await self._connection.ask(asked, _SentPairing)).made()

    async def forget(self, channel: str, sender: str) -> None:
        body = {"channel": channel, "sender": sender}
        await self._connection.fetch(Ask("POST", path("pairings", "forget"), body=body))

    async def undelivered(self, user: UserId | None = None) -> Sequence[Undelivered]:
        """Whose they are is not said."""
        asked = Ask("GET", path("undelivered"), again=True)
        found = await self._connection.ask(asked, _Undelivered)
        nobody = UserId("")
        return [Undelivered(user=nobody, **msgspec.structs.asdict(each)) for each in found.messages]

    async def again(self, entry: str, user: UserId | None = None) -> None:
        await self._connection.fetch(Ask("POST", path("undelivered", entry, "retry")))

    async def drop(self, entry: str, user: UserId | None = None) -> None:
        await self._connection.fetch(Ask("DELETE", path("undelivered", entry)))
