"""Who is heard, and as whom: pairings, groups, lists of the allowed and the blocked."""

from functools import partial
from typing import NamedTuple

import structlog

from roost.channels.pairing import hint, offer
from roost.core.config import ChannelConfig
from roost.core.errors import NotFound
from roost.core.ids import UserId
from roost.core.inbound import Inbound, plain_name
from roost.core.outbound import Told, encode_outbound
from roost.core.pairing import new_code
from roost.core.turns import OutboxEntry
from roost.runtime.app import App
from roost.runtime.persistence import persisted
from roost.store.inbox import Handled, Waiting
from roost.store.pairings import Pairing

log = structlog.stdlib.get_logger("roost.channels")

_SILENCE = Handled()
_OF_USER = ":user:"


class Heard(NamedTuple):
    """Someone who may speak: `user` is whose session it is, `route` where that is looked up.
    `owns` says whether the two are one, and `name` is set where several speak."""

    user: UserId
    route: str
    owns: bool
    name: str | None = None


def address_of(route: str) -> str:
    """Where messages of a route go: a group in which everyone has a session is still one place."""
    return route.partition(_OF_USER)[0]


class Admission:
    def __init__(self, app: App, channel: str, config: ChannelConfig) -> None:
        self._app = app
        self._channel = channel
        self._config = config
        self._pairings = app.parts.store.pairings

    async def look(self, waiting: Waiting) -> Heard | Handled:
        """Whoever may speak, or all that is done about someone who may not."""
        inbound, blocked = waiting.inbound, self._config.block
        if inbound.sender.id in blocked or inbound.place.group in blocked:
            return _SILENCE
        pairing = await self._pairings.find(self._channel, inbound.sender.id)
        if pairing is not None and pairing.state == "blocked":
            return _SILENCE
        user = await self._user_of(inbound.sender.id, pairing)
        if inbound.place.group is not None:
            return await self._in_group(waiting, inbound.place.group, user)
        if user is None:
            return self._unknown(waiting)
        return await self._if_enabled(Heard(user, inbound.place.address, owns=True))

    async def reaches(self, user: UserId, route: str) -> bool:
        """Whether whoever is at a route may still be told what is said to that user. The hint is
        for nobody whom Roost knows."""
        if not user:
            return True
        if not await self._enabled(user):
            return False
        there = await self._pairings.there(self._channel, user, route)
        if there.blocked or there.sender is None:
            return not there.blocked
        pairing = there.pairing
        if there.sender in self._config.block or (pairing and pairing.state == "blocked"):
            return False
        return await self._user_of(there.sender, pairing) == user

    async def _user_of(self, sender: str, pairing: Pairing | None) -> UserId | None:
        if pairing is not None and pairing.state == "approved":
            return pairing.user
        return (await self._app.owner()).id if sender in self._config.allow else None

    async def _in_group(
        self, waiting: Waiting, address: str, user: UserId | None
    ) -> Heard | Handled:
        inbound, config = waiting.inbound, self._config
        spoken_to = inbound.place.mentioned or inbound.press is not None
        if config.groups == "none" or (config.groups == "mention" and not spoken_to):
            return _SILENCE
        group = await self._pairings.find(self._channel, address)
        if group is not None and group.state == "blocked":
            return _SILENCE
        if user is None and (group is None or config.members == "paired"):
            # Who is only overheard is not spoken to.
            return self._unknown(waiting) if spoken_to else _SILENCE
        if group is None:
            group = await self._claimed(inbound, address, user)
            if group.state == "blocked":
                return _SILENCE
        owner = group.user
        if config.sessions == "user":
            route = f"{inbound.place.address}{_OF_USER}{inbound.sender.id}"
            heard = Heard(user or owner or UserId(""), route, owns=user is not None)
        else:
            route, name = inbound.place.address, plain_name(inbound.sender.name)
            heard = Heard(owner or UserId(""), route, owns=user == owner, name=name)
        return await self._if_enabled(heard)

    async def _claimed(self, inbound: Inbound, address: str, user: UserId | None) -> Pairing:
        """A group is whoever's who first speaks there and is known."""
        assert user is not None, "who is not known is not heard in a group that is nobody's"
        name = plain_name(inbound.place.name) or None
        claim = partial(self._pairings.claim, self._channel, address, user, name=name)
        group = await persisted(claim)
        log.info("a group was paired", channel=self._channel, group=address, user=group.user)
        return group

    async def _if_enabled(self, heard: Heard) -> Heard | Handled:
        return heard if await self._enabled(heard.user) else _SILENCE

    async def _enabled(self, user: UserId) -> bool:
        try:
            return (await self._app.parts.store.users.get(user)).disabled_at is None
        except NotFound:
            return False

    def _unknown(self, waiting: Waiting) -> Handled:
        """The code is told once, with the pairing that waits for it; then there is silence."""
        inbound, code = waiting.inbound, new_code()
        told = Told(hint(code), reply_to=inbound.message or None)
        entry = OutboxEntry(
            f"out_{self._channel}_{inbound.id}", inbound.place.address, encode_outbound(told)
        )
        return Handled(tell=(entry,), offer=offer(inbound.sender, code))
