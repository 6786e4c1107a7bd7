"""Which channels there are, how they are doing, and who may talk over them."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Literal

import msgspec
import structlog

from roost.core.clock import Clock
from roost.core.config import ChannelConfig, ChannelSetup
from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.inbound import HookCall, HookReply
from roost.core.keys import Key
from roost.runtime.catalogue import Keeps
from roost.runtime.persistence import persisted
from roost.store.store import Store

log = structlog.stdlib.get_logger("roost.channels")

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_OPTION = re.compile(r"[a-z0-9_-]{1,64}")
_SETTING = "channels"
_ELSEWHERE = "It is set in the configuration, which goes first. Change it there."

Condition = Literal["off", "connecting", "connected", "lost", "refused", "elsewhere", "wrong"]
"""`lost` is tried again by itself, `refused` needs a person; `elsewhere` is held by another server,
`wrong` can't be started as it is set up."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How a channel is doing, since when; `bot` is what people call it on its platform."""

    condition: Condition
    since: int
    bot: str | None = None
    detail: str | None = None


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A channel as people see it: its options are named, never shown."""

    name: str
    kind: str
    configured: bool
    setup: ChannelSetup
    options: Sequence[str]
    status: Status
    received: int
    waiting: int
    undelivered: int


Hook = Callable[[str, HookCall], Awaitable[HookReply | None]]


class Switchboard:
    """Changes count at once: whoever hosts channels is told by `changed`. `hide` is told every
    secret before it is used. `tellers` are told of what is changed here: other servers have a
    switchboard of their own."""

    def __init__(
        self,
        store: Store,
        configured: Mapping[str, ChannelConfig],
        *,
        clock: Clock,
        hide: Callable[[list[str]], None],
    ) -> None:
        self._store = store
        self._configured = configured
        self._clock = clock
        self._hide = hide
        self._added: Mapping[str, ChannelConfig] = {}
        self._seen: tuple[str | None, bytes] = (None, b"")
        self._changing = asyncio.Lock()
        self.tellers: list[Callable[[], None]] = []
        self._statuses: dict[str, Status] = {}
        self.changed: Callable[[], None] = lambda: None
        self.kinds: Callable[[], Sequence[str]] = tuple
        self.hook: Hook = _nobody

    async def load(self) -> None:
        """Take up what was added before."""
        await self.refresh()

    async def refresh(self) -> None:
        """Take up what was changed on another server, if anything was."""
        async with self._changing:
            await self._refresh()

    async def _refresh(self) -> None:
        seen = await self._look()
        if seen == self._seen:
            return
        added = await added_to(self._store)
        self._seen = seen
        if added != self._added:
            self._adopt(added)

    async def _look(self) -> tuple[str | None, bytes]:
        """What is there, as far as it takes to know whether it is as before."""
        text = await persisted(partial(self._store.settings.get, _SETTING))
        return text, await persisted(self._store.secrets.stamp)

    def wanted(self) -> Mapping[str, ChannelConfig]:
        """The channels that are to run."""
        return {name: each for name, each in self._all().items() if each.paused == "no"}

    def _all(self) -> Mapping[str, ChannelConfig]:
        return {**self._added, **self._configured}

    def say(
        self, name: str, condition: Condition, *, bot: str | None = None, detail: str | None = None
    ) -> None:
        before = self._statuses.get(name)
        if before is not None and bot is None:
            bot = before.bot
        self._statuses[name] = Status(
            condition=condition, since=self._clock.now(), bot=bot, detail=detail
        )
        if before is None or before.condition != condition:
            log.info("a channel changed", channel=name, condition=condition, detail=detail)

    def status(self, name: str) -> Status:
        return self._statuses.get(name) or Status(condition="off", since=self._clock.now())

    async def all(self) -> Sequence[Known]:
        return [await self._known(name) for name in sorted(self._all())]

    async def get(self, name: str) -> Known:
        if name not in self._all():
            raise NotFound("channel", name)
        return await self._known(name)

    async def _known(self, name: str) -> Known:
        config = self._all()[name]
        waiting, undelivered = await self._store.outbox.counts(name)
        return Known(
            name=name,
            kind=config.kind or name,
            configured=name in self._configured,
            setup=_setup_of(config),
            options=sorted(config.options),
            status=self.status(name),
            received=await self._store.inbox.count(name),
            waiting=waiting,
            undelivered=undelivered,
        )

    async def put(self, name: str, setup: ChannelSetup, options: Mapping[str, Key | None]) -> Known:
        """Add a channel, or set it up anew. Options that are left out stay; None takes one out."""
        self._check(name, setup, options)
        async with self._changing:
            await self._refresh()
            known = self._added.get(name) or _with(setup, {})
            given = {**known.options, **options}
            kept = {option: value for option, value in given.items() if value is not None}
            secrets = {} if name in self._added else await self._left_behind(name)
            for option, value in options.items():
                secrets[_secret(name, option)] = None if value is None else value.reveal()
            await self._write({**self._added, name: _with(setup, kept)}, secrets)
        return await self._known(name)

    async def _left_behind(self, name: str) -> dict[str, str | None]:
        """The secrets of a channel of that name that is no more: a new one inherits nothing."""
        names = await persisted(self._store.secrets.names)
        return dict.fromkeys([each for each in names if each.startswith(_secret(name, ""))])

    async def remove(self, name: str) -> None:
        """With its token. What it received and sent is kept."""
        if name in self._configured:
            raise Conflict(f"{name} can't be removed here. {_ELSEWHERE}")
        async with self._changing:
            await self._refresh()
            if name not in self._added:
                raise NotFound("channel", name)
            left = dict(self._added)
            config = left.pop(name)
            await self._write(left, {_secret(name, option): None for option in config.options})
        self._statuses.pop(name, None)

    def _check(self, name: str, setup: ChannelSetup, options: Mapping[str, Key | None]) -> None:
        if not NAME.fullmatch(name):
            raise InvalidInput("A channel's name is small letters, digits, - and _, up to 32.")
        if name in self._configured:
            raise Conflict(f"{name} can't be changed here. {_ELSEWHERE}")
        if (kind := setup.kind or name) not in self.kinds():
            raise InvalidInput(f"There is no kind of channel {kind}: {', '.join(self.kinds())}.")
        if not all(_OPTION.fullmatch(option) for option in options):
            raise InvalidInput("An option's name is small letters, digits, - and _.")

    def _adopt(self, added: Mapping[str, ChannelConfig]) -> None:
        for config in added.values():
            self._hide([key.reveal() for key in config.options.values()])
        self._added = added
        self.changed()

    async def _write(
        self, added: Mapping[str, ChannelConfig], secrets: Mapping[str, str | None]
    ) -> None:
        stored = {name: _setup_of(config) for name, config in added.items()}
        text, before = msgspec.json.encode(stored).decode(), self._seen[0]
        replace = partial(self._store.secrets.replace, _SETTING, before, text, secrets)
        if not await persisted(replace):
            raise Conflict("Somebody else is changing the channels. Try again.")
        self._seen = text, self._seen[1]
        self._adopt(added)
        for teller in self.tellers:
            teller()

    async def receive(self, name: str, call: HookCall) -> HookReply | None:
        """Hand on what a platform calls over HTTP; None if no channel of that name takes it."""
        return await self.hook(name, call)


async def added_to(store: Keeps) -> dict[str, ChannelConfig]:
    """The channels that were added while Roost ran."""
    names = await persisted(store.secrets.names)
    added: dict[str, ChannelConfig] = {}
    for name, setup in _read(await persisted(partial(store.settings.get, _SETTING))).items():
        options: dict[str, Key] = {}
        for secret in names:
            if secret.startswith(_secret(name, "")):
                value = await persisted(partial(store.secrets.get, secret))
                if value is not None:
                    options[secret.removeprefix(_secret(name, ""))] = Key(value)
        added[name] = _with(setup, options)
    return added


async def _nobody(name: str, call: HookCall) -> HookReply | None:
    return None


def _with(setup: ChannelSetup, options: Mapping[str, Key]) -> ChannelConfig:
    values = msgspec.structs.asdict(_setup_of(setup))
    return ChannelConfig(**values, options=dict(options))


def _setup_of(config: ChannelSetup) -> ChannelSetup:
    """Without the options."""
    values = msgspec.structs.asdict(config)
    values.pop("options", None)
    return ChannelSetup(**values)


def _secret(name: str, option: str) -> str:
    return f"channel/{name}/{option}"


def _read(text: str | None) -> dict[str, ChannelSetup]:
    if text is None:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, ChannelSetup])
    except msgspec.MsgspecError as error:
        log.error("channels that were added can't be read; they are left out", error=str(error))
        return {}
