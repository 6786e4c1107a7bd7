"""Named places where a test can pull the plug: make the process die, or a call fail.

Arm them in the process with `failing(...)`, or in a child through the environment:
`ROOST_FAULTS="store.commit.before=kill:3"` kills it, with SIGKILL, the third time it gets there;
`=fail:3` makes that one time fail. Several are separated by commas.
"""

import contextlib
import os
import re
import signal
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Literal

from roost.core.errors import ConfigError

Action = Literal["kill", "fail"]

PLACES = frozenset(
    {
        "store.commit.before",  # the operations have run, nothing is durable
        "store.commit.after",  # durable, nobody has been told
        "store.migrate.before",  # a migration has run, nothing is durable
        "store.migrate.after",
        "repair.name.before",  # all that can be is rescued, under a name that says unfinished
        "repair.name.after",  # now under one that says finished, beside the damaged store
        "repair.swap.before",  # the log of the damaged store is gone, its database is not
        "repair.swap.after",
        "move.slice.before",  # rows of a store that moves are on their way, nothing is durable
        "move.slice.after",
        "blob.write.before",  # the bytes are on their way to disk, under a temporary name
        "blob.write.after",  # row and file (in that order) are durable, nobody has been told
        "idle.commit.before",  # the same of background work: indexing, sweeping, purging
        "idle.commit.after",
        "memory.cut.before",  # completed turns are marked, and in no segment
        "memory.commit.before",  # a segment and its try are durable, the provider knows nothing
        "memory.commit.after",  # the provider has it, which is not written down
        "channel.store.before",  # a platform has delivered something, nothing is durable
        "channel.store.after",  # it is durable, and not acknowledged
        "channel.handle.before",  # it is acknowledged, and nothing was done about it
        "channel.handle.after",  # it is a turn or what a command did, which is not written down
        "channel.handled.after",  # and now it is
        "channel.deliver.before",  # an answer is durable and split, and the platform knows nothing
        "channel.deliver.after",  # the platform has a piece of it, which is not written down
        "channel.confirm.after",  # and now it is
    }
)


class FaultError(Exception):
    """Raised by an armed place."""


@dataclass
class _Fault:
    action: Action
    countdown: int


_armed: dict[str, _Fault] = {}


def reach(place: str) -> None:
    """Called by Roost at each of `PLACES`; free unless something is armed."""
    if _armed:
        _trigger(place)


def _trigger(place: str) -> None:
    fault = _armed.get(place)
    if fault is None:
        return
    fault.countdown -= 1
    if fault.countdown:
        return
    if fault.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise FaultError(place)


def _arm(place: str, action: Action, nth: int) -> None:
    if place not in PLACES:
        raise ValueError(
            f"there is no fault point {place!r}; there are {', '.join(sorted(PLACES))}"
        )
    _armed[place] = _Fault(action, nth)


@contextlib.contextmanager
def failing(place: str, *, nth: int = 1) -> Generator[None]:
    """Inside the block, the nth arrival at `place` fails, and only that one."""
    _arm(place, "fail", nth)
    try:
        yield
    finally:
        del _armed[place]


def arm_from_environment(environ: Mapping[str, str]) -> None:
    for item in filter(None, environ.get("ROOST_FAULTS", "").split(",")):
        place, _, what = item.partition("=")
        action, _, nth = what.partition(":")
        if action not in ("kill", "fail") or not re.fullmatch(r"([1-9]\d*)?", nth):
            raise ConfigError(f"ROOST_FAULTS: {item!r} should read place=kill:N or place=fail:N.")
        try:
            _arm(place, action, int(nth or 1))
        except ValueError as error:
            raise ConfigError(f"ROOST_FAULTS: {error}.") from error
