"""What a user has settled for themselves: how things look, and what new sessions begin with."""

from collections.abc import Mapping
from functools import partial

import msgspec

from roost.core.errors import InvalidInput, RoostError
from roost.core.ids import UserId
from roost.core.messages import check_text
from roost.core.signature import AgentConfig
from roost.runtime.building import Builder
from roost.runtime.parts import Parts
from roost.runtime.persistence import persisted
from roost.tools.toolsets import toolset as known_toolset

LARGEST = 16_384
"""Bytes of JSON that say how things look."""
_SETTING = "preferences"


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """`appearance` is whatever a surface keeps there; Roost does not look into it. A `model` or
    `toolset` of None is the server's default."""

    model: str | None = None
    toolset: str | None = None
    appearance: Mapping[str, msgspec.Raw] = {}


class Preferring:
    def __init__(self, parts: Parts, user: UserId) -> None:
        self._settings = parts.store.of(user).settings
        self._builder: Builder = parts.builder

    async def get(self) -> Preferences:
        return _read(await persisted(partial(self._settings.get, _SETTING)))

    async def change(self, changes: Mapping[str, object]) -> Preferences:
        """Other values for some; what is left out stays, also as somebody else just set it."""
        while True:
            before = await persisted(partial(self._settings.get, _SETTING))
            wanted = self._changed(_read(before), changes)
            text = msgspec.json.encode(wanted).decode()
            if await persisted(partial(self._settings.replace, _SETTING, before, text)):
                return wanted

    def _changed(self, before: Preferences, changes: Mapping[str, object]) -> Preferences:
        wanted = msgspec.structs.replace(before, **changes)
        check_text(wanted, "setting")
        if wanted.model is not None and "model" in changes:
            self._builder.plan_for(wanted.model)
        if wanted.toolset is not None:
            known_toolset(wanted.toolset)
        if len(msgspec.json.encode(wanted.appearance)) > LARGEST:
            raise InvalidInput(f"What says how things look is larger than {LARGEST} bytes.")
        return wanted

    async def config(
        self, model: str | None = None, instructions: str = "", toolset: str | None = None
    ) -> AgentConfig | None:
        """What a new session begins with; None is the server's default, as of its first turn."""
        if model is None or toolset is None:
            preferred = await self.for_new_session()
            model, toolset = model or preferred.model, toolset or preferred.toolset
        if model is None and not instructions and toolset is None:
            return None
        named = None if toolset is None else known_toolset(toolset)
        return self._builder.plan_for(model, instructions, named).config

    async def for_new_session(self) -> Preferences:
        """A model that can't be asked any more keeps nobody from opening a session."""
        found = await self.get()
        if found.model is None:
            return found
        try:
            self._builder.plan_for(found.model)
        except RoostError:
            return msgspec.structs.replace(found, model=None)
        return found


def _read(text: str | None) -> Preferences:
    return Preferences() if text is None else msgspec.json.decode(text, type=Preferences)
