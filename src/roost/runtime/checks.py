"""What can be said of the place Roost works in; none of it writes, and all of it works beside a
running server."""

import asyncio
import os
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import apsw

from roost.core.amounts import amount
from roost.core.config import Config
from roost.core.errors import RoostError, StoreFull
from roost.core.keys import StoreAddress
from roost.llm.providers import LOCAL, Providers, Target
from roost.runtime.heartbeat import silence_of
from roost.runtime.models import Models
from roost.runtime.switchboard import Known, Switchboard
from roost.store.folder import closed_to_us, is_dangling, is_foreign
from roost.store.marks import refuse_if_tied
from roost.store.migrations import SCHEMA_VERSION, Schema
from roost.store.postgres.schema import look
from roost.store.servers import KnownServer
from roost.store.sqlite import repair
from roost.workspace.probe import probe

_MB = 1_000_000

# Earlier ones could lose a commit when a checkpoint reset the write-ahead log.
_SQLITE_NEEDED = (3, 51, 3)

_FRESH = 2.0
"""Seconds for which what was found is told again."""

_OTHER_FOLDER = "Choose another folder with --data."


class Finding(NamedTuple):
    state: Literal["good", "warn", "bad"]
    subject: str
    found: str
    advice: str = ""


class Doctor:
    """What a server that runs finds of itself. One look at a time, however many ask: it reads the
    whole store."""

    def __init__(
        self, config: Config, models: Models, providers: Providers, switchboard: Switchboard
    ) -> None:
        self._switchboard = switchboard
        self._config = config
        self._models = models
        self._providers = providers
        self._looking = asyncio.Lock()
        self._found: Sequence[Finding] = ()
        self._found_at = -_FRESH

    async def look(self) -> Sequence[Finding]:
        async with self._looking:
            if time.monotonic() >= self._found_at + _FRESH:
                on_disk = await asyncio.to_thread(lambda: list(_on_disk(self._config)))
                model = await _default_model(self._models, self._providers)
                channels = [_channel(each) for each in await self._switchboard.all()]
                self._found = [*on_disk, await sandbox(self._config), model, *channels]
                self._found_at = time.monotonic()
            return self._found


def _channel(known: Known) -> Finding:
    subject, status = f"Channel {known.name}", known.status
    found = status.detail or status.condition
    if status.condition in ("refused", "wrong"):
        # It is off, and all else works.
        return Finding("warn", subject, found, "Set it up anew: `roost channels set`.")
    if status.condition == "lost":
        return Finding("warn", subject, found)
    if known.undelivered:
        found = f"{amount(known.undelivered, 'message')} could not be delivered"
        return Finding("warn", subject, found, "See `roost channels undelivered`.")
    return Finding("good", subject, status.bot or found)


def _on_disk(config: Config) -> Iterator[Finding]:
    yield python_version(sys.version_info[:3])
    yield sqlite_version(apsw.sqlite_lib_version())
    yield data_folder(config.data)
    yield free_disk(shutil.disk_usage(config.data).free)
    yield from store(config)


async def _default_model(models: Models, providers: Providers) -> Finding:
    try:
        target = providers.default()
    except RoostError as error:
        return Finding("warn", "Model", str(error))
    name = target.provider.name
    offers = await models.offered()
    for trouble in offers.troubles:
        if trouble.provider == name:
            return Finding("warn", "Model", trouble.detail)
    return model(target, served=name in [each.provider for each in offers.models])


def model(target: Target, *, served: bool) -> Finding:
    """The one that answers if nobody chooses another, whose provider was asked what is `served`."""
    if target.provider.name != LOCAL:
        return Finding("good", "Model", f"{target}, its provider answers")
    if served:
        return Finding("good", "Model", f"{target}, built in: tiny, but it answers")
    return Finding("warn", "Model", "the built-in one is not installed", "Set a provider's key.")


def python_version(version: tuple[int, int, int]) -> Finding:
    found = ".".join(map(str, version))
    if version >= (3, 11):
        return Finding("good", "Python", found)
    return Finding("bad", "Python", found, "Install Python 3.11 or newer.")


def sqlite_version(found: str) -> Finding:
    if tuple(map(int, found.split("."))) >= _SQLITE_NEEDED:
        return Finding("good", "SQLite", found)
    needed = ".".join(map(str, _SQLITE_NEEDED))
    return Finding("bad", "SQLite", found, f"Install an apsw with SQLite {needed} or newer.")


def data_folder(folder: Path) -> Finding:
    subject = "Data folder"
    try:
        status = folder.stat()
    except FileNotFoundError:
        return _folder_to_come(folder)
    except OSError as error:
        return Finding("bad", subject, f"{folder}: {error.strerror}", _OTHER_FOLDER)
    if (trouble := _trouble_with(folder, status)) is not None:
        return Finding("bad", subject, *trouble)
    if status.st_mode & 0o077:
        found = f"{folder} is open to others (mode {stat.S_IMODE(status.st_mode):04o})"
        return Finding("warn", subject, found, f"Run `chmod 700 {folder}`.")
    return Finding("good", subject, str(folder))


def _trouble_with(folder: Path, status: os.stat_result) -> tuple[str, str] | None:
    """What keeps a start from using the folder, and what to do about it."""
    user = os.geteuid()
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is not a folder", _OTHER_FOLDER
    if status.st_uid != user:
        found = f"{folder} belongs to user {status.st_uid}, and this is user {user}"
        return found, "Run Roost as that user, or choose another folder with --data."
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return f"{folder} is not writable", f"Run `chmod 700 {folder}`."
    if is_foreign(folder):
        return f"{folder} is not empty, and not Roost's", _OTHER_FOLDER
    if closed := closed_to_us(folder):
        found = f"{folder} has files that this user may not use: {', '.join(closed)}"
        return found, f"As root: `chown -R {user} {folder}; chmod -R u+rwX {folder}`."
    return None


def _folder_to_come(folder: Path) -> Finding:
    subject, parent = "Data folder", nearest(folder)
    if is_dangling(folder):
        found = f"{folder} is a link to a folder that is not there"
        return Finding("bad", subject, found, _OTHER_FOLDER)
    if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
        return Finding("good", subject, f"{folder}: no Roost there yet, made at the first start")
    found = f"{folder} can't be made: {parent} is not writable"
    return Finding("bad", subject, found, _OTHER_FOLDER)


def free_disk(free: int) -> Finding:
    found = f"{free / 1000 / _MB:.1f} GB free" if free >= 1000 * _MB else f"{free // _MB} MB free"
    advice = "Make room: without it, Roost can't take messages."
    if free < 100 * _MB:
        return Finding("bad", "Disk", found, advice)
    if free < 1000 * _MB:
        return Finding("warn", "Disk", found, advice)
    return Finding("good", "Disk", found)


def store(config: Config) -> Iterator[Finding]:
    """Blocks, and runs a loop of its own where the store is elsewhere."""
    if config.store is None:
        yield from _file(config.data)
    else:
        silence = silence_of(config.leases.ttl.total_seconds())
        yield from _database(config.store, silence)


def _database(address: StoreAddress, silence: float) -> Iterator[Finding]:
    try:
        seen = asyncio.run(look(address))
    except RoostError as error:
        yield Finding("bad", "Store", str(error), "Start the database, or correct ROOST_STORE.")
        return
    if seen.schema is None:
        yield Finding("good", "Store", f"{address}, nothing in it yet")
        return
    yield Finding("good", "Store", f"{address}, answers")
    yield schema(seen.schema)
    if seen.servers:
        yield servers(seen.servers, silence)


def servers(known: Sequence[KnownServer], silence: float) -> Finding:
    """Those that share the store. One that is silent for so many seconds would have been removed by
    any other that is there."""
    silent = [server for server in known if server.silent > silence * 1000]
    found = "; ".join([_server(server, silent=server in silent) for server in known])
    if silent:
        advice = "It has stopped, and no other server has taken over: start it again."
        return Finding("warn", "Servers", found, advice)
    if len({server.version for server in known}) > 1:
        return Finding("warn", "Servers", found, "Upgrade those that are older.")
    return Finding("good", "Servers", found)


def _server(known: KnownServer, *, silent: bool) -> str:
    said = f"{known.id} at {known.address or known.host}, {known.version}"
    if silent:
        said += f", silent for {known.silent // 1000} s"
    return f"{said}, stops" if known.draining else said


def _file(folder: Path) -> Iterator[Finding]:
    try:
        refuse_if_tied(folder)
        problems = repair.check(folder)
        found = None if problems else repair.schema_of(folder)
    except StoreFull:
        yield Finding("bad", "Store", "can't be opened: its disk is full", "Free some disk space.")
        return
    except RoostError as error:
        yield Finding("bad", "Store", str(error))
        return
    if problems:
        yield Finding(
            "bad",
            "Store",
            f"damaged: {problems[0]}",
            "Stop Roost and run `roost doctor --repair`; it makes a copy first.",
        )
    elif found is None:
        yield Finding("good", "Store", "none yet, made at the first start")
    else:
        yield Finding("good", "Store", "whole")
        yield schema(found)


def schema(found: Schema) -> Finding:
    subject, version = "Schema", found.version
    known = f"(this one knows {SCHEMA_VERSION})"
    if found.minimum > SCHEMA_VERSION:
        advice = "Upgrade Roost, or restore a backup made before the upgrade."
        return Finding("bad", subject, f"{version}, needs a newer Roost {known}", advice)
    if version > SCHEMA_VERSION:
        words = f"{version}, written by a newer Roost {known}"
        return Finding("warn", subject, words, "Upgrade Roost.")
    to_come = f", becomes {SCHEMA_VERSION} at the next start" if version < SCHEMA_VERSION else ""
    return Finding("good", subject, f"{version}{to_come}")


async def sandbox(config: Config) -> Finding:
    """Where commands run. Each choice is tried, not believed."""
    wanted = config.workspaces.sandbox
    subject = "Sandbox"
    if wanted == "none":
        return Finding("good", subject, "none, and no tools that need one")
    if wanted == "local":
        found = "none: commands run on this machine as they are"
        return Finding("warn", subject, found, "Set workspaces.sandbox to auto.")
    tried = await probe(config.workspaces, config.data)
    if tried.works:
        return Finding("good", subject, f"{tried.kind} works")
    state = "bad" if wanted == "bubblewrap" else "warn"
    named = tried.kind in tried.why_not
    found = tried.why_not if named else f"{tried.kind} does not work: {tried.why_not}"
    return Finding(state, subject, found, tried.advice)


def nearest(folder: Path) -> Path:
    """The folder itself or the first of its parents that is there."""
    return next(path for path in (folder, *folder.parents) if os.access(path, os.F_OK))
