"""Reads the configuration: defaults, then roost.toml, then ROOST_* variables, then flags."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args, get_origin

import msgspec

from roost.core.config import Config, PriceConfig
from roost.core.errors import ConfigError, SettingUnknown
from roost.core.keys import Key
from roost.core.settings import (
    KEY_KIND,
    KINDS,
    TABLE_KIND,
    Given,
    Kind,
    SettingPath,
    closest,
    read_count,
    read_dollars,
    read_host_names,
    read_networks,
    read_percent,
    read_port,
    read_texts,
    unknown,
    wrong,
)


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
                key=variable, source="the environment", hint=_variable_hint(variable)
            )
        # Empty is how a shell or a compose file leaves a variable out.
        if text := environ[variable]:
            yield _untyped(VARIABLES[variable], text, variable)


def _variable_hint(variable: str) -> str:
    """By the settings they stand for: as variables they are all a little alike."""
    meant = closest(variable.removeprefix("ROOST_").lower(), VARIABLES.values())
    names = [name for name, key in VARIABLES.items() if key == meant]
    return f" Did you mean {names[0]}?" if names else ""


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
    elif read in (read_texts, read_host_names, read_networks):
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
