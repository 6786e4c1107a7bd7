"""One frozen configuration: defaults, then roost.toml, then ROOST_* variables, then flags."""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Literal, NamedTuple, NewType, cast, get_args

import msgspec

from roost.core.errors import ConfigError, SettingUnknown, SettingWrong

LogLevel = Literal["debug", "info", "warning", "error"]
Port = NewType("Port", int)


class ServerConfig(msgspec.Struct, frozen=True):
    host: str = "127.0.0.1"
    port: Port = Port(7667)


class LogConfig(msgspec.Struct, frozen=True):
    level: LogLevel = "info"


class LeaseConfig(msgspec.Struct, frozen=True):
    ttl: timedelta = timedelta(seconds=30)


class RetentionConfig(msgspec.Struct, frozen=True):
    idempotency_keys: timedelta = timedelta(days=7)
    inbox: timedelta = timedelta(days=30)
    events: timedelta = timedelta(days=30)


class Config(msgspec.Struct, frozen=True, kw_only=True):
    data: Path
    server: ServerConfig = ServerConfig()
    log: LogConfig = LogConfig()
    leases: LeaseConfig = LeaseConfig()
    retention: RetentionConfig = RetentionConfig()


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
    values: dict[str, object] = {}
    if (folder := xdg_folder(environ, "XDG_DATA_HOME", ".local/share")) is not None:
        values["data"] = folder / "roost"
    for setting in (*_from_file(file), *_from_environment(environ), *_from_flags(flags)):
        value = _read(setting)
        if isinstance(value, Path):
            value = setting.base / _at_home(value, environ)
        values[setting.key] = value
    if "data" not in values:
        raise ConfigError("HOME is not set, so the data has no folder. Choose one with --data.")
    return _build(values)


def xdg_folder(environ: Mapping[str, str], variable: str, below_home: str) -> Path | None:
    """A folder of the XDG base directory specification, which says to ignore relative ones."""
    folder = Path(environ.get(variable, ""))
    if folder.is_absolute():
        return folder
    home = environ.get("HOME")
    return Path(home, below_home) if home else None


def duration(text: str) -> timedelta:
    """Read "30s", "15m", "1h" or "7d"; anything else, zero included, is a ValueError."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration")
    unit = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}[match[2]]
    return timedelta(**{unit: int(match[1])})


class _Kind(NamedTuple):
    """What a setting may be, in words and as a reader that raises ValueError."""

    expected: str
    read: Callable[[object], object]


def _text(value: object) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError(value)


def _folder(value: object) -> Path:
    text = _text(value)
    if "\0" in text:
        raise ValueError(value)
    return Path(text)


def _duration(value: object) -> timedelta:
    return duration(_text(value))


def _port(value: object) -> Port:
    # bool is an int to Python, but not to a person who wrote `port = true`.
    if type(value) is int and 0 <= value <= 65535:
        return Port(value)
    raise ValueError(value)


def _level(value: object) -> str:
    if value in get_args(LogLevel):
        return cast("str", value)
    raise ValueError(value)


_KINDS = {
    str: _Kind("text", _text),
    Path: _Kind("a folder", _folder),
    Port: _Kind("a whole number from 0 to 65535", _port),
    LogLevel: _Kind("one of " + ", ".join(get_args(LogLevel)), _level),
    timedelta: _Kind('a duration such as "30s", "15m", "1h" or "7d"', _duration),
}


def _settings_of(struct: type[msgspec.Struct], prefix: str = "") -> Iterator[tuple[str, _Kind]]:
    for field in msgspec.structs.fields(struct):
        if field.type in _KINDS:
            yield prefix + field.name, _KINDS[field.type]
        else:
            yield from _settings_of(field.type, f"{prefix}{field.name}.")


_SETTINGS = dict(_settings_of(Config))
_SECTIONS = sorted({key.partition(".")[0] for key in _SETTINGS if "." in key})
VARIABLES = {"ROOST_" + key.upper().replace(".", "_"): key for key in _SETTINGS}


class _Given(NamedTuple):
    """A setting as someone wrote it, where they did, and what its relative path is relative to."""

    key: str
    value: object
    source: str
    base: Path = Path()


def _from_file(file: ConfigFile | None) -> Iterator[_Given]:
    if file is None:
        return
    try:
        tables = tomllib.loads(file.text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file.path} is not valid TOML: {error}.") from error
    for name, value in tables.items():
        if name not in _SECTIONS:
            yield _Given(name, value, str(file.path), file.path.parent)
        elif isinstance(value, dict):
            for inner, setting in cast("dict[str, object]", value).items():
                yield _Given(f"{name}.{inner}", setting, str(file.path), file.path.parent)
        else:
            raise _wrong(_Given(name, value, str(file.path)), f"a section, [{name}]")


def _from_environment(environ: Mapping[str, str]) -> Iterator[_Given]:
    for variable in sorted(environ):
        if not variable.startswith("ROOST_") or variable in _OTHER_VARIABLES:
            continue
        if variable not in VARIABLES:
            raise SettingUnknown(
                key=variable, source="the environment", hint=_hint(variable, VARIABLES)
            )
        # Empty is how a shell or a compose file leaves a variable out.
        if text := environ[variable]:
            yield _Given(VARIABLES[variable], _untyped(VARIABLES[variable], text), variable)


def _from_flags(flags: Mapping[str, str | None]) -> Iterator[_Given]:
    for flag, text in flags.items():
        if text is not None:
            yield _Given(_FLAGS[flag], _untyped(_FLAGS[flag], text), flag)


def _untyped(key: str, text: str) -> object:
    """Variables and flags are always text; a file says by itself what is a number."""
    is_number = _SETTINGS[key].read is _port and re.fullmatch("[0-9]{1,5}", text)
    return int(text) if is_number else text


def _read(given: _Given) -> object:
    kind = _SETTINGS.get(given.key)
    if kind is None:
        raise SettingUnknown(
            key=given.key, source=given.source, hint=_hint(given.key, [*_SETTINGS, *_SECTIONS])
        )
    try:
        return kind.read(given.value)
    except ValueError:
        raise _wrong(given, kind.expected) from None


def _wrong(given: _Given, expected: str) -> SettingWrong:
    value = repr(given.value)
    if len(value) > 80:
        value = value[:80] + "…"
    return SettingWrong(key=given.key, source=given.source, expected=expected, value=value)


def _hint(name: str, known: Iterable[str]) -> str:
    last = name.rpartition(".")[2]
    elsewhere = [key for key in known if key.rpartition(".")[2] == last]
    close = elsewhere or difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return f" Did you mean {close[0]}?" if close else ""


def _at_home(folder: Path, environ: Mapping[str, str]) -> Path:
    if folder.parts[:1] == ("~",) and (home := environ.get("HOME")):
        return Path(home, *folder.parts[1:])
    return folder


def _build(values: Mapping[str, object]) -> Config:
    nested: dict[str, object] = {}
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        table = cast("dict[str, object]", nested.setdefault(section, {})) if section else nested
        table[name] = value
    return msgspec.convert(nested, Config)
