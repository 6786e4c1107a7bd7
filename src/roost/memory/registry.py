"""Finds the memory that was chosen by name: Roost's own, or one that a package brings."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from roost.core.errors import ConfigError
from roost.core.keys import Key
from roost.memory.base import SCOPE_NAME, MemoryProvider

GROUP = "roost.memory"
"""The group of entry points in which packages register their providers."""

Options = Mapping[str, Key]
"""What the configuration says in [memory.options], for the provider alone. Any of it may be secret,
so none of it is shown."""

Factory = Callable[[Options], MemoryProvider]


class Registry:
    """`own` are those that come with Roost: no package can take their place."""

    def __init__(self, own: Mapping[str, Factory]) -> None:
        self._own = own

    def names(self) -> list[str]:
        """All that could be chosen. Nothing is imported for it."""
        return sorted({*self._own, *[point.name for point in _registered()]})

    def load(self, name: str, options: Options) -> MemoryProvider:
        """Import the provider and make it. Raises `ConfigError` if that can't be done."""
        factory = self._own.get(name) or _imported(self._find(name))
        try:
            return factory(options)
        except ConfigError:
            raise
        except Exception as error:
            raise ConfigError(f"The memory {name} could not be started: {error}.") from error

    def _find(self, name: str) -> EntryPoint:
        found = [point for point in _registered() if point.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            packages = " and ".join([_package(point) for point in found])
            raise ConfigError(f"Both {packages} bring a memory {name}. Uninstall one of them.")
        close = difflib.get_close_matches(name, self.names(), n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        there = ", ".join(self.names())
        raise ConfigError(f"There is no memory {name} (memory.provider).{hint} There are {there}.")


def _registered() -> Sequence[EntryPoint]:
    """A name that no scope could hold is nobody's."""
    points = entry_points(group=GROUP)
    return [point for point in points if SCOPE_NAME.fullmatch(point.name)]


def _imported(point: EntryPoint) -> Factory:
    memory = f"The memory {point.name} of {_package(point)}"
    try:
        loaded: object = point.load()
    except Exception as error:
        raise ConfigError(f"{memory} can't be loaded: {error}.") from error
    if not callable(loaded):
        raise ConfigError(f"{memory} can't be called to make one.")
    return cast("Factory", loaded)


def _package(point: EntryPoint) -> str:
    return point.value.partition(":")[0] if point.dist is None else point.dist.name
