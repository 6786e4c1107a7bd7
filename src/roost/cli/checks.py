"""What `roost doctor` looks at; none of it writes, and all of it works beside a running server."""

import asyncio
import shutil
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import apsw
import uvloop

from roost.channels.base import Checked
from roost.channels.registry import Registry
from roost.client.connection import Ask, connected
from roost.client.place import find
from roost.core.config import ChannelConfig, Config
from roost.core.errors import (
    AddressUnusable,
    ChannelRefused,
    ConfigError,
    PortTaken,
    RoostError,
    ServerUnreachable,
)
from roost.core.keys import Key
from roost.http.server import bind
from roost.runtime.checks import (
    Finding,
    data_folder,
    free_disk,
    nearest,
    python_version,
    sandbox,
    sqlite_version,
    store,
)
from roost.runtime.checks import model as model_found
from roost.store.cipher import VARIABLE, has_key, read_key
from roost.store.folder import DATABASE, KEY, Owner, holder
from roost.wiring import check_memory, known_channels, known_models, models

_READY_SECONDS = 5.0
_CHANNEL_SECONDS = 10.0


def examine(
    config: Config, keys: Mapping[str, Key], environ: Mapping[str, str]
) -> Iterator[Finding]:
    yield python_version(sys.version_info[:3])
    yield sqlite_version(apsw.sqlite_lib_version())
    folder = data_folder(config.data)
    yield folder
    yield free_disk(shutil.disk_usage(nearest(config.data)).free)
    owner, readable = None, False
    if folder.state != "bad" and (config.store is not None or config.data.is_dir()):
        found = list(store(config))
        yield from found
        readable = all(finding.state != "bad" for finding in found)
        yield secret_key(config.data, environ)
        owner = holder(config.data)
        yield held_by(owner)
        if owner is not None and owner.address is not None:
            yield uvloop.run(server(config.data, owner.address))
    yield port(config.server.host, config.server.port, owner)
    yield uvloop.run(sandbox(config))
    yield uvloop.run(model(config, keys, environ, stored=readable))
    yield uvloop.run(memory(config))
    channels = uvloop.run(known_channels(config, environ)) if readable else config.channels
    for name, channel in channels.items():
        if channel.paused == "no":
            yield uvloop.run(channel_found(name, channel))


def secret_key(folder: Path, environ: Mapping[str, str]) -> Finding:
    """What the keys of providers and the tokens of channels are sealed with."""
    subject = "Secret key"
    if has_key(folder, environ):
        try:
            read_key(folder, environ)
        except RoostError as error:
            return Finding("bad", subject, str(error), "Put the right one back.")
        return Finding("good", subject, VARIABLE if environ.get(VARIABLE) else KEY)
    if not (folder / DATABASE).exists():
        return Finding("good", subject, "none yet, made at the first start")
    advice = f"Put it back, or set {VARIABLE}: what was sealed with it can't be opened otherwise."
    return Finding("warn", subject, f"{KEY} is missing", advice)


async def channel_found(name: str, config: ChannelConfig) -> Finding:
    """Whether a platform takes a channel's token."""
    subject = f"Channel {name}"
    try:
        made = Registry().make(config.kind or name, name, config.options)
        if not isinstance(made, Checked):
            return Finding("good", subject, "set up")
        async with asyncio.timeout(_CHANNEL_SECONDS):
            return Finding("good", subject, f"known as {await made.check()}")
    except (ConfigError, ChannelRefused) as error:
        # A start leaves this one off, and all else works.
        return Finding("warn", subject, str(error), "Set it up anew: `roost channels set`.")
    except (RoostError, TimeoutError) as error:
        return Finding("warn", subject, str(error) or "it does not answer")


async def model(
    config: Config, keys: Mapping[str, Key], environ: Mapping[str, str], *, stored: bool = True
) -> Finding:
    """The model that answers if nobody chooses another, by what is `stored` too."""
    known = known_models if stored else models
    try:
        async with known(config, keys, environ) as (providers, clients):
            target = providers.default()
            served = await clients.models(target.provider)
    except RoostError as error:
        return Finding("warn", "Model", str(error))
    return model_found(target, served=bool(served))


async def memory(config: Config) -> Finding:
    """Whether the chosen one is there and takes its options: without it, nothing starts."""
    try:
        await check_memory(config)
    except ConfigError as error:
        return Finding("bad", "Memory", str(error))
    return Finding("good", "Memory", config.memory.provider)


def held_by(owner: Owner | None) -> Finding:
    if owner is None:
        return Finding("good", "In use by", "nobody")
    return Finding("good", "In use by", str(owner))


async def server(folder: Path, address: str) -> Finding:
    """Whether the server that has the folder can read and write it: only it may."""
    try:
        async with connected(partial(find, folder), patience=0) as connection:
            await connection.fetch(Ask("GET", "/readyz", again=True, seconds=_READY_SECONDS))
    except ServerUnreachable:
        found = f"{address} does not answer"
        return Finding("bad", "Server", found, "Look at its log; stop it and start it again.")
    except RoostError as error:
        return Finding("bad", "Server", f"{address} is not ready", str(error))
    return Finding("good", "Server", f"{address}, ready")


def port(host: str, number: int, owner: Owner | None) -> Finding:
    try:
        bind(host, number).close()
    except PortTaken:
        if owner and owner.address and owner.address.endswith(f":{number}"):
            return Finding("good", "Port", f"{number}, held by process {owner.pid}")
        found = f"{number} on {host} is taken by another program"
        return Finding("bad", "Port", found, "Choose another: `roost run --port NUMBER`.")
    except AddressUnusable as error:
        found = f"{number} on {host} can't be used: {error.facts['reason']}"
        return Finding(
            "bad", "Port", found, "Choose others: `roost run --host HOST --port NUMBER`."
        )
    return Finding("good", "Port", f"{number or 'any'}, free")
