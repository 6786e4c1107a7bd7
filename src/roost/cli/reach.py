"""The way to Roost: the server that runs on the data folder or, if none does, the folder itself."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import uvloop
from rich.console import Console

from roost.cli import terminal
from roost.cli.configured import configure
from roost.cli.ports import Account, Contacts, Identities, Switchboard
from roost.cli.settings import Settings, read_keys
from roost.client.account import Account as AttachedAccount
from roost.client.channels import Contacts as AttachedContacts
from roost.client.channels import Switchboard as AttachedSwitchboard
from roost.client.connection import connected
from roost.client.identities import Identities as AttachedIdentities
from roost.client.place import Place, find
from roost.core.clock import SystemClock
from roost.core.config import Config
from roost.core.errors import ConfigError
from roost.core.keys import Key
from roost.store.folder import Owner, holder, is_begun
from roost.wiring import Roost, resting, running

_PATIENCE = 5.0
"""Seconds that a server may take until it listens, or until it lets go of the folder."""
_LOOK = 0.05

Environ = Mapping[str, str]
Keys = Mapping[str, Key]


class Reached(NamedTuple):
    """`place` is where the server is, if there is one."""

    account: Account
    identities: Identities
    config: Config
    switchboard: Switchboard
    contacts: Contacts
    place: Place | None = None


Work = Callable[[Reached, Console], Awaitable[None]]


def work_on(settings: Settings, work: Work, *, begins: bool = False) -> None:
    """What a command does, which need not know where. Only one that `begins` something may be the
    first in a folder: others would look at a Roost that nobody meant to have."""
    config, keys = configure(settings, quiet=True), read_keys(settings, os.environ)
    if not begins and config.store is None and not is_begun(config.data):
        raise ConfigError(
            f"There is no Roost in {config.data}. Start one there with `roost run`, or name its "
            "folder with --data."
        )
    uvloop.run(_work_on(config, keys, work))


async def _work_on(config: Config, keys: Keys, work: Work) -> None:
    async with reached(config, keys, os.environ) as roost:
        await work(roost, terminal.out())


@asynccontextmanager
async def reached(config: Config, keys: Keys, environ: Environ) -> AsyncGenerator[Reached]:
    """For a command that is soon done: in a folder, nothing goes on meanwhile."""
    if (place := await attachable(config.data)) is not None:
        async with attached(config, place) as roost:
            yield roost
        return
    async with resting(config, keys, environ) as here:
        yield await _here(here)


@asynccontextmanager
async def reached_to_talk(
    config: Config, keys: Keys, environ: Environ, *, absence: float | None
) -> AsyncGenerator[Reached]:
    """For a conversation. `absence` is how long a server that stops meanwhile is waited for."""
    if (place := await attachable(config.data)) is not None:
        async with attached(config, place, absence=absence) as roost:
            yield roost
        return
    async with running(_in_no_hurry(config), keys, environ) as here:
        yield await _here(here)


@asynccontextmanager
async def attached(
    config: Config, place: Place, *, absence: float | None = None
) -> AsyncGenerator[Reached]:
    async with connected(partial(find, config.data)) as connection:
        account = AttachedAccount(connection, absence=absence)
        identities = AttachedIdentities(connection)
        board, contacts = AttachedSwitchboard(connection), AttachedContacts(connection)
        yield Reached(account, identities, config, board, contacts, place)


async def attachable(folder: Path) -> Place | None:
    """The server on a folder. One that is just starting, or about to be gone, is waited for."""
    clock, since = SystemClock(), asyncio.get_running_loop().time()
    while (place := await asyncio.to_thread(find, folder)) is None:
        owner = await asyncio.to_thread(_holder, folder)
        waited = asyncio.get_running_loop().time() - since
        if owner is None or waited > _PATIENCE or not _serves(owner, clock.now()):
            return None
        await asyncio.sleep(_LOOK)
    return place


def _holder(folder: Path) -> Owner | None:
    try:
        return holder(folder)
    except OSError:
        return None  # whoever opens it says what is wrong with it


def _serves(owner: Owner, now: int) -> bool:
    """Whether it is a server that takes no requests yet, or no more; a chat never does."""
    just_started = not owner.pid or now - owner.started_at < _PATIENCE * 1000
    return just_started or owner.address is not None


async def _here(roost: Roost) -> Reached:
    owner = await roost.app.owner()
    parts, account = roost.app.parts, roost.app.of(owner.id)
    return Reached(account, roost.identities, roost.config, parts.switchboard, parts.contacts)


def _in_no_hurry(config: Config) -> Config:
    """Leaving is immediate: what is to be remembered is seen to after the next start."""
    memory = msgspec.structs.replace(config.memory, grace=timedelta(0))
    return msgspec.structs.replace(config, memory=memory)
