"""One frozen configuration: defaults, then roost.toml, then ROOST_* variables, then flags."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args, get_origin

import msgspec

from roost.core.errors import ConfigError, SettingUnknown
from roost.core.keys import Key
from roost.core.settings import (
    KEY_KIND,
    KINDS,
    TABLE_KIND,
    BaseUrl,
    Choice,
    Count,
    Dollars,
    Given,
    Kind,
    LogLevel,
    Money,
    Percent,
    Port,
    SandboxName,
    ScopeName,
    SearchName,
    SettingPath,
    ToolsetName,
    VariableName,
    VendorName,
    WireName,
    hint,
    read_count,
    read_dollars,
    read_percent,
    read_port,
    read_texts,
    unknown,
    wrong,
)


class ServerConfig(msgspec.Struct, frozen=True):
    """`names` are those that Roost is reached by besides its address; `proxies` are the addresses
    whose word counts on where a request came from."""

    host: str = "127.0.0.1"
    port: Port = Port(7667)
    grace: timedelta = timedelta(seconds=10)
    names: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    tls_cert: str | None = None
    tls_key: str | None = None


class LogConfig(msgspec.Struct, frozen=True):
    level: LogLevel = "info"


class LeaseConfig(msgspec.Struct, frozen=True):
    ttl: timedelta = timedelta(seconds=30)


class AgentsConfig(msgspec.Struct, frozen=True):
    max: Count = Count(128)
    idle_ttl: timedelta = timedelta(hours=1)


class ApprovalsConfig(msgspec.Struct, frozen=True):
    """Rules are written `tool` or `tool: pattern`. Of those that match, deny goes before ask, and
    ask before allow."""

    ttl: timedelta = timedelta(days=1)
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class ToolsConfig(msgspec.Struct, frozen=True):
    """`toolset` is what sessions begin with that choose none."""

    toolset: ToolsetName = "full"
    subagents: Count = Count(4)
    subagent_depth: Count = Count(2)


class WorkspacesConfig(msgspec.Struct, frozen=True):
    """`read` and `write` are folders of this machine that agents may use besides their own; what is
    under `disk_floor` (in megabytes) of free disk is left free."""

    sandbox: SandboxName = "auto"
    idle_ttl: timedelta = timedelta(hours=12)
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    processes: Count = Count(256)
    memory: Count | None = None
    disk_floor: Count = Count(500)


class WebConfig(msgspec.Struct, frozen=True):
    """`url` is where a search service of one's own is; `options` may hold its `key`."""

    search: SearchName = "none"
    url: BaseUrl | None = None
    options: Mapping[str, Key] = {}
    browser: Choice = "yes"


class McpConfig(msgspec.Struct, frozen=True):
    """A server of tools: a command to run, or an address."""

    command: tuple[str, ...] = ()
    url: BaseUrl | None = None
    environment: Mapping[VariableName, Key] = {}
    headers: Mapping[str, Key] = {}
    timeout: timedelta = timedelta(seconds=60)


class CompactionConfig(msgspec.Struct, frozen=True):
    """`threshold` is in percent of the model's window; a session that is two thirds of the way
    there and idle for `idle` is compacted while nobody waits."""

    threshold: Percent = Percent(75)
    idle: timedelta = timedelta(minutes=5)


class MemoryConfig(msgspec.Struct, frozen=True):
    """`provider` and `profile` are the scope that turns are remembered under; the provider `none`
    remembers nothing. `options` are the provider's own, and may hold its key."""

    provider: ScopeName = ScopeName("builtin")
    profile: ScopeName = ScopeName("default")
    idle_commit: timedelta = timedelta(minutes=30)
    timeout: timedelta = timedelta(seconds=60)
    grace: timedelta = timedelta(seconds=10)
    options: Mapping[str, Key] = {}


class RecoveryConfig(msgspec.Struct, frozen=True):
    auto_continue: timedelta = timedelta(minutes=10)


class LimitsConfig(msgspec.Struct, frozen=True):
    """What a turn, a session, and a user in one day (UTC) may take; costs are in dollars."""

    turn_steps: Count = Count(100)
    turn_time: timedelta = timedelta(hours=1)
    turn_tokens: Count | None = None
    turn_cost: Money | None = None
    session_tokens: Count | None = None
    session_cost: Money | None = None
    day_tokens: Count | None = None
    day_cost: Money | None = None


class RetentionConfig(msgspec.Struct, frozen=True):
    idempotency_keys: timedelta = timedelta(days=7)
    inbox: timedelta = timedelta(days=30)
    events: timedelta = timedelta(days=30)


class PriceConfig(msgspec.Struct, frozen=True):
    """What a model costs, where it is not what the price list says. Without prices of their own,
    cached tokens cost what `input` costs, and so do those that are written to the cache."""

    input: Dollars
    output: Dollars
    cached: Dollars | None = None
    cache_write: Dollars | None = None


class ModelsConfig(msgspec.Struct, frozen=True):
    """`default`, `small` and `fallbacks` are written provider/model; so are the names of `prices`,
    where `*` stands for anything. `small` does the small work, such as titles."""

    default: str | None = None
    small: str | None = None
    fallbacks: tuple[str, ...] = ()
    prices: Mapping[str, PriceConfig] = {}


class ProviderConfig(msgspec.Struct, frozen=True):
    """Where models are. Its key is not here: `load_keys` reads that."""

    vendor: VendorName | None = None
    base_url: BaseUrl | None = None
    key_env: VariableName | None = None
    wire: WireName | None = None
    context: Count | None = None
    models: tuple[str, ...] = ()
    headers: Mapping[str, Key] = {}


class Config(msgspec.Struct, frozen=True, kw_only=True):
    data: Path
    server: ServerConfig = ServerConfig()
    log: LogConfig = LogConfig()
    leases: LeaseConfig = LeaseConfig()
    agents: AgentsConfig = AgentsConfig()
    approvals: ApprovalsConfig = ApprovalsConfig()
    tools: ToolsConfig = ToolsConfig()
    workspaces: WorkspacesConfig = WorkspacesConfig()
    web: WebConfig = WebConfig()
    mcp: Mapping[str, McpConfig] = {}
    compaction: CompactionConfig = CompactionConfig()
    memory: MemoryConfig = MemoryConfig()
    recovery: RecoveryConfig = RecoveryConfig()
    limits: LimitsConfig = LimitsConfig()
    retention: RetentionConfig = RetentionConfig()
    models: ModelsConfig = ModelsConfig()
    providers: Mapping[str, ProviderConfig] = {}


class ConfigFile(NamedTuple):
    path: Path
    text: str


# Read elsewhere, apart from the configuration.
_OTHER_VARIABLES = {"ROOST_CONFIG", "ROOST_FAULTS", "ROOST_SECRET_KEY"}

_FLAGS = {
    "--data": "data",
    "--host": "server.host",
    "--port": "server.port",
    "--log-level": "log.level",
}


def load(
    file: ConfigFile | None, environ: Mapping[str, str], flags: Mapping[str, str | None]
) -> Config:
    """Read everything that was given; a flag that is None was not."""
    values: dict[SettingPath, object] = {}
    if (folder := xdg_folder(environ, "XDG_DATA_HOME", ".local/share")) is not None:
        values["data",] = folder / "roost"
    for given in chain(_from_file(file), _from_environment(environ), _from_flags(flags)):
        value = _read(given)
        if isinstance(value, Path):
            value = given.base / _at_home(value, environ)
        if not isinstance(value, Key):
            values[given.path] = value
    if ("data",) not in values:
        raise ConfigError("HOME is not set, so the data has no folder. Choose one with --data.")
    return _build(values)


def load_keys(file: ConfigFile | None, environ: Mapping[str, str]) -> Mapping[str, Key]:
    """The keys that the file gives or names, by provider. Nothing else of the file is read."""
    keys: dict[str, Key] = {}
    for given in _from_file(file):
        if len(given.path) != 3 or given.path[0] != "providers":
            continue
        _, provider, name = given.path
        if name == "key_env":
            variable = cast("str", _read(given))
            found = Given(given.path, environ.get(variable), f"the variable {variable}")
        elif name == "key":
            found = given
        else:
            continue
        if provider in keys:
            raise ConfigError(
                f"The provider {provider} has both key and key_env (in {given.source}). Keep one."
            )
        if found.value:
            keys[provider] = read_key(found)
    return keys


def read_key(given: Given) -> Key:
    try:
        return cast("Key", KEY_KIND.read(given.value))
    except ValueError:
        raise wrong(given, KEY_KIND) from None


def xdg_folder(environ: Mapping[str, str], variable: str, below_home: str) -> Path | None:
    """A folder of the XDG base directory specification, which says to ignore relative ones."""
    folder = Path(environ.get(variable, ""))
    if folder.is_absolute():
        return folder
    home = environ.get("HOME")
    return Path(home, below_home) if home else None


def _settings_of(
    struct: type[msgspec.Struct], above: SettingPath = ()
) -> Iterator[tuple[SettingPath, Kind]]:
    for field in msgspec.structs.fields(struct):
        path = (*above, field.name)
        kind = _without_none(field.type)
        if kind in KINDS:
            yield path, KINDS[kind]
        elif get_origin(kind) is Mapping:
            yield (*path, "*"), TABLE_KIND
            yield from _settings_of(get_args(kind)[1], (*path, "*"))
        else:
            yield from _settings_of(kind, path)


def _without_none(kind: Any) -> Any:  # noqa: ANN401
    """X, of X | None."""
    choices = [choice for choice in get_args(kind) if choice is not type(None)]
    return choices[0] if type(None) in get_args(kind) else kind


_SETTINGS = dict(_settings_of(Config)) | {("providers", "*", "key"): KEY_KIND}
_REQUIRED: Mapping[SettingPath, list[str]] = {
    ("models", "prices", "*"): [
        field.name for field in msgspec.structs.fields(PriceConfig) if field.required
    ]
}
_SECTIONS = {path[:end] for path in _SETTINGS for end in range(1, len(path))}
VARIABLES = {
    "ROOST_" + "_".join(path).upper(): ".".join(path)
    for path, kind in _SETTINGS.items()
    if "*" not in path and kind is not KINDS[Mapping[str, Key]]
}


def _pattern(path: SettingPath) -> SettingPath:
    """The path, with `*` for the names that someone chose."""
    for pattern in (*_SETTINGS, *_SECTIONS):
        if len(pattern) == len(path) and all(
            there in ("*", here) for here, there in zip(path, pattern, strict=True)
        ):
            return pattern
    return path


def _from_file(file: ConfigFile | None) -> Iterator[Given]:
    if file is None:
        return
    try:
        tables = tomllib.loads(file.text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file.path} is not valid TOML: {error}.") from error
    yield from _from_table((), tables, file.path)


def _from_table(above: SettingPath, table: Mapping[str, object], file: Path) -> Iterator[Given]:
    for name, value in table.items():
        path = (*above, name)
        pattern = _pattern(path)
        given = Given(path, value, str(file), file.parent)
        if pattern not in _SECTIONS:
            yield given
        elif isinstance(value, dict):
            if pattern in _SETTINGS:
                yield given._replace(value={})
            inner = cast("dict[str, object]", value)
            yield from _from_table(path, inner, file)
            if missing := [name for name in _REQUIRED.get(pattern, ()) if name not in inner]:
                raise ConfigError(f"The section [{given.key}] (in {file}) lacks {missing[0]}.")
        else:
            # A key that was written one level too high is still not repeated.
            raise wrong(given, Kind(f"a section, [{given.key}]", id, secret=len(path) > 1))


def _from_environment(environ: Mapping[str, str]) -> Iterator[Given]:
    for variable in sorted(environ):
        if not variable.startswith("ROOST_") or variable in _OTHER_VARIABLES:
            continue
        if variable not in VARIABLES:
            raise SettingUnknown(
                key=variable, source="the environment", hint=hint(variable, VARIABLES)
            )
        # Empty is how a shell or a compose file leaves a variable out.
        if text := environ[variable]:
            yield _untyped(VARIABLES[variable], text, variable)


def _from_flags(flags: Mapping[str, str | None]) -> Iterator[Given]:
    for flag, text in flags.items():
        if text is not None:
            yield _untyped(_FLAGS[flag], text, flag)


def _untyped(key: str, text: str, source: str) -> Given:
    """Variables and flags are always text; a file says by itself what is a number or a list."""
    path = tuple(key.split("."))
    value: object = text
    read = _SETTINGS[path].read
    if read in (read_port, read_count, read_percent, read_dollars) and re.fullmatch(
        "[0-9]{1,16}", text
    ):
        value = int(text)
    elif read is read_dollars and re.fullmatch(r"[0-9]{0,6}\.[0-9]{1,9}", text):
        value = float(text)
    elif read is read_texts:
        value = [item.strip() for item in text.split(",")]
    return Given(path, value, source)


def _read(given: Given) -> object:
    kind = _SETTINGS.get(_pattern(given.path))
    if kind is None:
        raise unknown(given, [*_SETTINGS, *sorted(_SECTIONS)])
    try:
        return kind.read(given.value)
    except ValueError:
        raise wrong(given, kind) from None


def _at_home(folder: Path, environ: Mapping[str, str]) -> Path:
    if folder.parts[:1] == ("~",) and (home := environ.get("HOME")):
        return Path(home, *folder.parts[1:])
    return folder


def _build(values: Mapping[SettingPath, object]) -> Config:
    nested: dict[str, object] = {}
    for path, value in values.items():
        table = nested
        for name in path[:-1]:
            table = cast("dict[str, object]", table.setdefault(name, {}))
        table[path[-1]] = value
    return msgspec.convert(nested, Config)
