"""Which models there are: what the configuration says, and what an admin adds while Roost runs."""

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal, NamedTuple, Protocol

import msgspec
import structlog

from roost.core.config import ProviderConfig
from roost.core.errors import Conflict, InvalidInput, NotFound, RoostError
from roost.core.keys import Key
from roost.core.settings import KINDS, BaseUrl, Count, VendorName, WireName
from roost.llm.providers import LOCAL, Added, Chosen, Provider, Providers
from roost.runtime.persistence import persisted
from roost.store.users import Secrets, Settings

log = structlog.stdlib.get_logger("roost.models")

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_SETTING = "models"
_ELSEWHERE = "It is set in the configuration or the environment, which go first. Change it there."


Role = Literal["default", "small", "fallbacks"]
"""What a model is chosen for."""


class Setup(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an admin set up a provider, without its key."""

    vendor: VendorName | None = None
    base_url: str | None = None
    wire: WireName | None = None
    context: int | None = None
    models: tuple[str, ...] = ()


class _Stored(msgspec.Struct, frozen=True):
    providers: dict[str, Setup] = {}
    chosen: Chosen = Chosen()


class Kept(NamedTuple):
    """What was added: as it is stored, and the keys, which are stored apart and sealed."""

    stored: _Stored
    keys: dict[str, Key]


class Keeps(Protocol):
    """What is asked of a store."""

    @property
    def settings(self) -> Settings: ...
    @property
    def secrets(self) -> Secrets: ...


class Catalogue:
    """Changes count from the next turn on: `providers` are replaced as a whole, and `changed` is
    called. `hide` is told every key before it is used. `tellers` are told of what is changed here:
    other servers have a catalogue of their own."""

    def __init__(
        self,
        store: Keeps,
        providers: Providers,
        *,
        hide: Callable[[list[str]], None],
        changed: Callable[[], None],
    ) -> None:
        self.providers = providers
        self._configured = providers.copy()
        self._settings = store.settings
        self._secrets = store.secrets
        self._hide = hide
        self._changed = changed
        self._kept = Kept(_Stored(), {})
        self._seen: tuple[str | None, bytes] = (None, b"")
        self._changing = asyncio.Lock()
        self.tellers: list[Callable[[], None]] = []

    async def load(self) -> None:
        """Take up what was added before. What can't be used is left out, and said."""
        self._seen = await self._look()
        self._kept = await self._loaded(self._seen[0])
        self.providers.adopt(self._extended(self._kept))

    async def refresh(self) -> None:
        """Take up what was changed on another server, if anything was."""
        async with self._changing:
            await self._refresh()

    async def _refresh(self) -> None:
        seen = await self._look()
        if seen == self._seen:
            return
        kept = await self._loaded(seen[0])
        self._seen = seen
        if kept != self._kept:
            self._kept = kept
            self.providers.adopt(self._extended(kept))
            self._changed()

    async def _look(self) -> tuple[str | None, bytes]:
        """What is there, as far as it takes to know whether it is as before."""
        text = await persisted(partial(self._settings.get, _SETTING))
        return text, await persisted(self._secrets.stamp)

    async def _loaded(self, text: str | None) -> Kept:
        stored = _read(text)
        keys: dict[str, Key] = {}
        for name, setup in stored.providers.items():
            try:
                provider = self._checked(name, setup)
                sealed = await persisted(partial(self._secrets.get, _secret(provider)))
            except RoostError as error:
                log.error("a provider can't be used as it is", provider=name, error=str(error))
                continue
            if sealed is not None:
                keys[name] = Key(sealed)
        self._hide([key.reveal() for key in keys.values()])
        return Kept(stored, keys)

    @property
    def configured(self) -> frozenset[Role]:
        """What the configuration has chosen already: it can't be changed here."""
        chosen = msgspec.structs.asdict(self._configured.chosen)
        roles: tuple[Role, ...] = ("default", "small", "fallbacks")
        return frozenset([role for role in roles if chosen[role] is not None])

    def default_name(self) -> str | None:
        """The model that is asked if none is named; None if it is not set up right."""
        try:
            return str(self.providers.default())
        except RoostError:
            return None

    async def put(self, name: str, setup: Setup, key: Key | None) -> Provider:
        """Add a provider, or set it up anew. Without a key it keeps the one that it has, if that
        is for the same address: a key is sent to no other."""
        async with self._changing:
            await self._refresh()
            provider = self._checked(name, setup)
            keys, secrets = dict(self._kept.keys), await self._secrets_of(name)
            if key is not None:
                keys[name] = key
                secrets[_secret(provider)] = key.reveal()
                self._hide([key.reveal()])
            elif self._is_at(name, provider):
                secrets.pop(_secret(provider), None)
            else:
                keys.pop(name, None)
            stored = msgspec.structs.replace(
                self._kept.stored, providers={**self._kept.stored.providers, name: setup}
            )
            new = self._checked_all(Kept(stored, keys))
            await self._adopt(Kept(stored, keys), new, secrets)
            log.info("a provider was set up", provider=name, address=provider.base_url)
            return provider

    def _is_at(self, name: str, provider: Provider) -> bool:
        """Whether it was added before, with the same address."""
        before = self.providers.find(name) if name in self._kept.stored.providers else None
        return before is not None and before.base_url == provider.base_url

    async def remove(self, name: str) -> None:
        async with self._changing:
            await self._refresh()
            if self.providers.find(name) is None:
                raise NotFound("provider", name)
            if name not in self._kept.stored.providers:
                raise Conflict(f"{name} can't be removed here. {_ELSEWHERE}")
            left = {each: one for each, one in self._kept.stored.providers.items() if each != name}
            keys = {each: key for each, key in self._kept.keys.items() if each != name}
            stored = msgspec.structs.replace(self._kept.stored, providers=left)
            kept = Kept(stored, keys)
            await self._adopt(kept, self._checked_all(kept), await self._secrets_of(name))
            log.info("a provider was removed", provider=name)

    async def choose(self, changes: Mapping[Role, str | tuple[str, ...] | None]) -> None:
        """Other models for some roles; None leaves it to Roost."""
        async with self._changing:
            await self._refresh()
            for role in self.configured & changes.keys():
                raise Conflict(f"models.{role} can't be changed here. {_ELSEWHERE}")
            chosen = msgspec.structs.replace(self._kept.stored.chosen, **changes)
            stored = msgspec.structs.replace(self._kept.stored, chosen=chosen)
            kept = self._kept._replace(stored=stored)
            new = self._extended(kept)
            for role, error in _unusable(new):
                if role in changes:
                    raise InvalidInput(str(error))
            await self._adopt(kept, new, {})
            log.info("models were chosen", **msgspec.structs.asdict(chosen))

    def _checked_all(self, kept: Kept) -> Providers:
        """What worked has to work still: nobody could be answered by a default that is gone."""
        new = self._extended(kept)
        broken = {role for role, _ in _unusable(self.providers)}
        for role, error in _unusable(new):
            if role not in broken:
                raise Conflict(f"{error} Choose another for models.{role} first.")
        return new

    async def _adopt(self, kept: Kept, new: Providers, secrets: Mapping[str, str | None]) -> None:
        """What is stored and its `secrets` change together: no provider is without its key, and no
        key is left behind, or taken from whoever came first."""
        text, before = msgspec.json.encode(kept.stored).decode(), self._seen[0]
        if not await persisted(partial(self._secrets.replace, _SETTING, before, text, secrets)):
            raise Conflict("Somebody else is changing the models. Try again.")
        self._seen = text, self._seen[1]
        self._kept = kept
        self.providers.adopt(new)
        self._changed()
        for teller in self.tellers:
            teller()

    def _extended(self, kept: Kept) -> Providers:
        given = {name: _config(setup) for name, setup in kept.stored.providers.items()}
        added = Added(providers=given, keys=kept.keys, chosen=kept.stored.chosen)
        return self._configured.extended(added)

    def _checked(self, name: str, setup: Setup) -> Provider:
        if not NAME.fullmatch(name):
            raise InvalidInput("A provider's name is small letters, digits, - and _, up to 63.")
        if not self._configured.may_be_added(name):
            raise Conflict(f"{name} can't be changed here. {_ELSEWHERE}")
        if setup.vendor == LOCAL:
            raise InvalidInput("The built-in model is there already, and can't be added.")
        added = self._configured.extended(Added(providers={name: _config(setup)}))
        found = added.find(name)
        assert found is not None, "it was added"
        return found

    async def _secrets_of(self, name: str) -> dict[str, str | None]:
        """All that a provider of that name has left, at any address, to be removed."""
        names = await persisted(self._secrets.names)
        return dict.fromkeys([each for each in names if each.startswith(f"provider/{name}@")])


def _read(text: str | None) -> _Stored:
    if text is None:
        return _Stored()
    try:
        return msgspec.json.decode(text, type=_Stored)
    except msgspec.MsgspecError as error:
        log.error("providers that were added can't be read; they are left out", error=str(error))
        return _Stored()


def _secret(provider: Provider) -> str:
    """By its address too: a key meets no other."""
    return f"provider/{provider.name}@{provider.base_url}"


def _config(setup: Setup) -> ProviderConfig:
    url = None
    if setup.base_url is not None:
        try:
            url = BaseUrl(str(KINDS[BaseUrl].read(setup.base_url)))
        except ValueError:
            raise InvalidInput(f"base_url is {KINDS[BaseUrl].expected}.") from None
    context = None if setup.context is None else Count(setup.context)
    return ProviderConfig(
        vendor=setup.vendor, base_url=url, wire=setup.wire, context=context, models=setup.models
    )


def _unusable(providers: Providers) -> list[tuple[Role, RoostError]]:
    """Which of the models that are chosen can't be asked, and why."""
    found: list[tuple[Role, RoostError]] = []
    looks: Mapping[Role, Callable[[], object]] = {
        "default": providers.default,
        "small": providers.small,
        "fallbacks": providers.fallbacks,
    }
    for role, look in looks.items():
        try:
            look()
        except RoostError as error:
            found.append((role, error))
    return found
