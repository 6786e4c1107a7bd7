"""Takes an inbound message to where it belongs: a session, a command, a question that waits."""

import re
from functools import partial

import msgspec

from roost.channels.admission import Admission, Heard, address_of
from roost.channels.answers import Answers
from roost.channels.base import Channel, Inbound
from roost.channels.commands import Asked, Commands
from roost.channels.reading import CANT_HEAR, has_voice, parts_of
from roost.core.config import ChannelConfig
from roost.core.errors import Conflict, NotFound, RoostError
from roost.core.ids import SessionId, TurnId, turn_id_for
from roost.core.messages import Part, plain_text
from roost.core.outbound import Told, encode_outbound
from roost.core.resets import Reset, is_due, parse_reset
from roost.core.turns import ENDED, OutboxEntry, Turn
from roost.runtime.app import App
from roost.runtime.persistence import persisted
from roost.store.inbox import Handled, Waiting
from roost.store.pairings import Presence

_COMMAND = re.compile(r"/([a-z_]+)(?:@\w+)?(?:\s+(.*))?", re.DOTALL | re.IGNORECASE)


class Router:
    """Whatever is done here may be done again after a crash: each step either names what it makes,
    or was written down beforehand (`Waiting.plan`)."""

    def __init__(
        self, app: App, channel: Channel, config: ChannelConfig, admission: Admission
    ) -> None:
        self._app = app
        self._channel = channel
        self._config = config
        self._store = app.parts.store
        self._admission = admission
        self._commands = Commands(app, channel.name, self.session)
        self._answers = Answers(app, channel)

    async def handle(self, waiting: Waiting) -> Handled:
        heard = await self._admission.look(waiting)
        if isinstance(heard, Handled):
            return heard
        handled = await self._handled(waiting, heard)
        inbound = waiting.inbound
        if inbound.place.group is not None:
            return handled
        there = Presence(heard.user, heard.route, inbound.sender.id)
        return msgspec.structs.replace(handled, there=there)

    async def given_up(self, waiting: Waiting, text: str) -> Handled:
        """What is told of a message that can't be handled, if its sender may hear anything."""
        heard = await self._admission.look(waiting)
        return heard if isinstance(heard, Handled) else self._told(waiting, heard, text)

    async def _handled(self, waiting: Waiting, heard: Heard) -> Handled:
        inbound = waiting.inbound
        command = _COMMAND.fullmatch((inbound.press or inbound.text).strip())
        if command is not None and not inbound.files and not inbound.edited:
            asked = Asked(command[1].lower(), (command[2] or "").strip(), waiting, heard)
            return self._told(waiting, heard, await self._commands.run(asked))
        if inbound.press is not None:
            return self._told(waiting, heard, await self._answers.press(waiting, heard))
        if inbound.edited:
            return await self._edited(waiting, heard)
        return await self._said(waiting, heard)

    def _told(
        self, waiting: Waiting, heard: Heard, text: str, *, turn: TurnId | None = None
    ) -> Handled:
        """Words of Roost's own become part of the outbox as the message is marked as handled."""
        if not text:
            return Handled(turn=turn)
        reply_to = waiting.inbound.message if heard.name is not None else None
        entry = self._entry(waiting, heard, text, reply_to=reply_to)
        return Handled(turn=turn, user=heard.user, tell=(entry,))

    def _entry(
        self, waiting: Waiting, heard: Heard, text: str, *, reply_to: str | None, what: str = ""
    ) -> OutboxEntry:
        id = f"out_{self._channel.name}_{waiting.inbound.id}{what}"
        return OutboxEntry(id, heard.route, encode_outbound(Told(text, reply_to=reply_to)))

    # Messages.

    async def _said(self, waiting: Waiting, heard: Heard) -> Handled:
        inbound = waiting.inbound
        name = f"{self._channel.name}:{inbound.id}"
        turn = turn_id_for(name, waiting.received_at)
        if await self._find(heard, turn) is not None:
            return Handled(turn=turn)
        voice = CANT_HEAR if has_voice(inbound) else ""
        session = await self.session(heard, waiting)
        if not voice and (answered := await self._answers.words(waiting, heard, session)):
            return self._told(waiting, heard, answered.told)
        parts = await self._parts(inbound, heard)
        if not parts:
            return self._told(waiting, heard, voice)
        account = self._app.of(heard.user)
        await account.send(session, parts, id=turn, key=name, route=heard.route)
        return self._told(waiting, heard, voice, turn=turn)

    async def _parts(self, inbound: Inbound, heard: Heard) -> tuple[Part, ...]:
        account, quoted = self._app.of(heard.user), inbound.reply_text
        if inbound.reply_to is not None and not quoted:
            quoted = await self._store.outbox.said(heard.route, inbound.reply_to) or ""
        return await parts_of(self._channel, account, inbound, name=heard.name, quoted=quoted)

    async def _find(self, heard: Heard, turn: TurnId) -> Turn | None:
        try:
            return await self._store.of(heard.user).turns.get(turn)
        except NotFound:
            return None

    # Sessions.

    async def session(self, heard: Heard, waiting: Waiting) -> SessionId:
        """The route's session: the one that is current, or another if it is time for that."""
        account = self._app.of(heard.user)
        current = await account.current(heard.route)
        if current is None:
            return (await account.reset(heard.route, origin=self._channel.name)).id
        reset = await self._reset(heard)
        if not await self._is_over(reset, heard, waiting, current):
            return current
        # Told first: it is told once, and until the reset is done it is due again.
        text = f"A new conversation begins: {reset.why()}. The old one is kept, see /sessions."
        entry = self._entry(waiting, heard, text, reply_to=None, what="_reset")
        await persisted(partial(self._store.outbox.put, heard.user, (entry,)))
        self._app.parts.delivery.wrote((entry,))
        return (await account.reset(heard.route, origin=self._channel.name)).id

    async def _reset(self, heard: Heard) -> Reset:
        """The channel's, unless another was chosen here."""
        chosen = await self._store.of(heard.user).sessions.reset_rule(heard.route)
        return parse_reset(chosen or self._config.reset)

    async def _is_over(
        self, reset: Reset, heard: Heard, waiting: Waiting, current: SessionId
    ) -> bool:
        session = await self._app.of(heard.user).session(current)
        if session.state != "idle" or not session.counters.messages:
            return False
        user = await self._store.users.get(heard.user)
        return is_due(
            reset,
            active_at=session.active_at,
            now=waiting.received_at,
            time_zone=user.time_zone,
        )

    # Edits.

    async def _edited(self, waiting: Waiting, heard: Heard) -> Handled:
        """What waits is changed; what was said last is taken back and said anew."""
        inbound = waiting.inbound
        address = address_of(heard.route)
        old = await self._store.inbox.turn_of(self._channel.name, address, inbound.message)
        found = None if old is None else await self._find(heard, old)
        if found is None or found.undone is not None:
            return Handled()
        parts = await self._parts(inbound, heard)
        if not parts or plain_text(parts) == plain_text(found.parts):
            return Handled(turn=found.id)  # a preview was added, say
        try:
            return Handled(turn=(await self._instead(heard, found, parts)).id)
        except RoostError as error:
            return self._told(waiting, heard, f"Your edit came too late: {error}", turn=found.id)

    async def _instead(self, heard: Heard, old: Turn, parts: tuple[Part, ...]) -> Turn:
        account = self._app.of(heard.user)
        if old.state == "queued":
            return await account.edit_queued(old.id, parts)
        latest = await self._store.of(heard.user).turns.latest(old.session)
        if latest is None or latest.id != old.id:
            raise Conflict("the conversation has gone on. Send it as a new message.")
        if old.state not in ENDED:
            await account.cancel(old.session, old.id)
        return await account.history.edit(old.session, old.id, parts)
