"""The flags that every command takes, and the configuration they end up in."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter, Token

from roost.core.config import Config
from roost.core.errors import ConfigError
from roost.core.keys import Key
from roost.core.loading import ConfigFile, load, load_keys, xdg_folder


def flag(metavar: str, help: str) -> Parameter:
    return Parameter(metavar=metavar, help=help)


def count(help: str) -> Parameter:
    """A flag that is a number from 1 on."""
    return Parameter(metavar="NUMBER", help=help, converter=_counted)


def _counted(_: object, tokens: Sequence[Token]) -> int:
    """By hand: the parser takes 1.5 and 0x1f for whole numbers, and would round."""
    if not re.fullmatch("0*[1-9][0-9]{0,17}", tokens[0].value, re.ASCII):
        raise ValueError("a whole number from 1 on")
    return int(tokens[0].value)


@Parameter(name="*")
@dataclass(frozen=True)
class Settings:
    """Flags as text, so that one place judges values wherever they come from."""

    data: Annotated[str | None, flag("FOLDER", "Where Roost keeps everything.")] = None
    config: Annotated[str | None, flag("FILE", "The configuration file.")] = None
    log_level: Annotated[str | None, flag("LEVEL", "debug, info, warning or error.")] = None


def read_config(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    host: str | None = None,
    port: str | None = None,
) -> Config:
    flags = {
        "--data": settings.data,
        "--host": host,
        "--port": port,
        "--log-level": settings.log_level,
    }
    config = load(_read_file(settings, environ), environ, flags)
    return msgspec.structs.replace(config, data=config.data.absolute())


def read_keys(settings: Settings, environ: Mapping[str, str]) -> Mapping[str, Key]:
    """The providers' keys of the same file, which stay apart from the configuration."""
    return load_keys(_read_file(settings, environ), environ)


def _read_file(settings: Settings, environ: Mapping[str, str]) -> ConfigFile | None:
    named = settings.config or environ.get("ROOST_CONFIG")
    folder = xdg_folder(environ, "XDG_CONFIG_HOME", ".config")
    if named:
        path = Path(named).expanduser().absolute()
    elif folder is not None:
        path = folder / "roost" / "roost.toml"
    else:
        return None
    try:
        return ConfigFile(path, path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if named:
            raise ConfigError(f"There is no configuration file {path}.") from None
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(f"The configuration file {path} is not UTF-8 text.") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"The configuration file {path} can't be read: {reason}.") from error
