"""Finds the platform that a channel is of: Roost's own, or one that a package brings."""

import importlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import cast

from roost.channels.base import ENTRY_POINTS, Channel, Factory, Options
from roost.core.errors import ConfigError

OWN: Mapping[str, str] = {
    "telegram": "roost.channels.telegram.channel:telegram",
    "discord": "roost.channels.discord.channel:discord_channel",
    "slack": "roost.channels.slack.channel:slack",
    "webhook": "roost.channels.webhook.channel:webhook",
}
"""No package can take the place of these. Each is imported when it is first used: all but the last
need a library that comes with an extra."""


class Registry:
    """`given` are factories that are there already, by their names: those of tests and programs."""

    def __init__(self, given: Mapping[str, Factory] | None = None) -> None:
        self._given = given or {}

    def kinds(self) -> list[str]:
        """All that could be chosen. Nothing is imported for it."""
        others = [point.name for point in entry_points(group=ENTRY_POINTS)]
        return sorted({*OWN, *self._given, *others})

    def load(self, kind: str) -> Factory:
        """Import what a kind needs. Raises `ConfigError` if there is no such kind."""
        factory = self._given.get(kind) or _own(kind) or _foreign(kind)
        if factory is None:
            there = ", ".join(self.kinds())
            raise ConfigError(f"There is no kind of channel {kind}. There are {there}.")
        return factory

    def make(self, kind: str, name: str, options: Options) -> Channel:
        """Raises `ConfigError` if there is no such kind, or its options are wrong."""
        factory = self.load(kind)
        try:
            return factory(name, options)
        except ConfigError:
            raise
        except Exception as error:
            said = _said(error, options)
            raise ConfigError(f"The channel {name} could not be made: {said}.") from error


def _said(error: Exception, options: Options) -> str:
    """Without what is secret: it is shown."""
    said = str(error)
    for option in options.values():
        said = said.replace(option.reveal(), "…")
    return said


def _own(kind: str) -> Factory | None:
    if kind not in OWN:
        return None
    module, _, factory = OWN[kind].partition(":")
    try:
        return cast("Factory", getattr(importlib.import_module(module), factory))
    except ImportError as error:
        raise ConfigError(
            f"{kind} needs a library that is not installed ({error}). Install roost[{kind}]."
        ) from error


def _foreign(kind: str) -> Factory | None:
    for point in entry_points(group=ENTRY_POINTS, name=kind):
        try:
            return cast("Factory", point.load())
        except Exception as error:
            raise ConfigError(f"The channel {kind} can't be loaded: {error}.") from error
    return None
