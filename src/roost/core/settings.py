"""What a setting may be, in words and as a reader, and what is said of one that is wrong."""

import difflib
import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple, NewType, cast, get_args
from urllib.parse import urlsplit

from roost.core.errors import SettingUnknown, SettingWrong
from roost.core.keys import Key, StoreAddress
from roost.core.resets import parse_reset

LogLevel = Literal["debug", "info", "warning", "error"]
WireName = Literal["openai-chat", "openai-responses", "anthropic"]
VendorName = Literal[
    "openai",
    "anthropic",
    "openrouter",
    "google",
    "deepseek",
    "groq",
    "mistral",
    "xai",
    "together",
    "azure",
    "ollama",
    "lmstudio",
    "llamacpp",
    "vllm",
    "compatible",
    "local",
]
Port = NewType("Port", int)
HostName = NewType("HostName", str)
"""As it stands in an address, without a port."""
NetworkName = NewType("NetworkName", str)
"""An address, or a network of them."""
Window = NewType("Window", timedelta)
"""A duration that may be none."""
BaseUrl = NewType("BaseUrl", str)
VariableName = NewType("VariableName", str)
Dollars = NewType("Dollars", float)
"""For a million tokens."""
Money = NewType("Money", float)
"""In dollars."""
Count = NewType("Count", int)
Percent = NewType("Percent", int)
ScopeName = NewType("ScopeName", str)
"""Names one part of a memory's scope."""
SandboxName = Literal["auto", "bubblewrap", "local", "none"]
SearchName = Literal["none", "searxng", "brave", "tavily"]
ToolsetName = Literal["chat", "files", "terminal", "browser", "full"]
Choice = Literal["yes", "no"]
GroupsName = Literal["mention", "all", "none"]
MembersName = Literal["paired", "all"]
SharingName = Literal["group", "user"]
ResetRule = NewType("ResetRule", str)

SettingPath = tuple[str, ...]
"""Where a setting is, one name for each level. In a pattern, `*` is a name someone chose."""


class Kind(NamedTuple):
    """`read` raises ValueError for anything that is not `expected`. What was written for a secret
    kind is not repeated."""

    expected: str
    read: Callable[[object], object]
    secret: bool = False


class Given(NamedTuple):
    """A setting as someone wrote it, where they did, and what its relative path is relative to."""

    path: SettingPath
    value: object
    source: str
    base: Path = Path()

    @property
    def key(self) -> str:
        return dotted(self.path)


def dotted(path: SettingPath) -> str:
    """As TOML writes it: names that are not plain words stand in quotes."""
    return ".".join(name if re.fullmatch(r"[\w*-]+", name) else f'"{name}"' for name in path)


def duration(text: str) -> timedelta:
    """Read "30s", "15m", "1h" or "7d"; anything else, zero included, is a ValueError."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration")
    unit = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}[match[2]]
    return timedelta(**{unit: int(match[1])})


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


def _window(value: object) -> Window:
    return Window(timedelta() if value == "0s" else _duration(value))


def read_port(value: object) -> Port:
    # bool is an int to Python, but not to a person who wrote `port = true`.
    if type(value) is int and 0 <= value <= 65535:
        return Port(value)
    raise ValueError(value)


def read_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(value)
    return tuple([_text(item) for item in cast("list[object]", value)])


def read_host_names(value: object) -> tuple[HostName, ...]:
    return tuple([_host_name(text) for text in read_texts(value)])


def _host_name(text: str) -> HostName:
    if ":" in text:
        ipaddress.IPv6Address(text.removeprefix("[").removesuffix("]"))
    elif not re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?", text, re.ASCII | re.IGNORECASE):
        raise ValueError(text)
    return HostName(text)


def read_networks(value: object) -> tuple[NetworkName, ...]:
    texts = [text.strip() for text in read_texts(value)]
    for text in texts:
        ipaddress.ip_network(text, strict=False)
    return tuple([NetworkName(text) for text in texts])


def read_dollars(value: object) -> float:
    if type(value) in (int, float) and 0 <= cast("float", value) < 1_000_000:
        return float(cast("float", value))
    raise ValueError(value)


def read_count(value: object) -> Count:
    if type(value) is int and 1 <= value < 1 << 53:
        return Count(value)
    raise ValueError(value)


def read_percent(value: object) -> Percent:
    if type(value) is int and 1 <= value <= 100:
        return Percent(value)
    raise ValueError(value)


def read_reset(value: object) -> ResetRule:
    parse_reset(_text(value))
    return ResetRule(cast("str", value))


def _scope_name(value: object) -> ScopeName:
    if re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", _text(value), re.ASCII):
        return ScopeName(cast("str", value))
    raise ValueError(value)


def _base_url(value: object) -> BaseUrl:
    """A name and password in the address would be printed with it: they have their own settings."""
    parts = urlsplit(_text(value))
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError(value)
    if parts.query or parts.fragment:
        raise ValueError(value)
    return BaseUrl(parts.geturl().rstrip("/"))


def _variable(value: object) -> VariableName:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", _text(value)):
        return VariableName(cast("str", value))
    raise ValueError(value)


def _key(value: object) -> Key:
    return Key(_text(value))


def _store(value: object) -> StoreAddress:
    return StoreAddress(_text(value))


def _headers(value: object) -> dict[str, Key]:
    if not isinstance(value, dict):
        raise ValueError("not a table")
    headers = cast("dict[str, object]", value)
    if not all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in headers):
        raise ValueError("not a header")
    return {name.lower(): _key(text) for name, text in headers.items()}


def _environment(value: object) -> dict[VariableName, Key]:
    if not isinstance(value, dict):
        raise ValueError("not a table")
    given = cast("dict[str, object]", value)
    return {_variable(name): _key(text) for name, text in given.items()}


def _table(_: object) -> dict[str, object]:
    return {}


def _one_of(choices: object) -> Kind:
    names = get_args(choices)

    def read(value: object) -> object:
        if value in names:
            return value
        raise ValueError(value)

    return Kind("one of " + ", ".join(names), read)


KEY_KIND = Kind("one line of text", _key, secret=True)
TABLE_KIND = Kind("a section", _table)

KINDS: Mapping[Any, Kind] = {
    str: Kind("text", _text),
    Path: Kind("a folder", _folder),
    Port: Kind("a whole number from 0 to 65535", read_port),
    LogLevel: _one_of(LogLevel),
    timedelta: Kind('a duration such as "30s", "15m", "1h" or "7d"', _duration),
    Window: Kind('a duration such as "15m" or "1h", or "0s" for none', _window),
    tuple[str, ...]: Kind('a list of texts such as ["a", "b"]', read_texts),
    tuple[HostName, ...]: Kind(
        'a list of host names such as ["roost.example"], without a scheme or a port',
        read_host_names,
    ),
    tuple[NetworkName, ...]: Kind(
        'a list of addresses or networks such as ["10.0.0.0/8"]', read_networks
    ),
    Dollars: Kind("dollars for a million tokens, such as 2.5", read_dollars),
    Money: Kind("dollars, such as 2.5", read_dollars),
    Percent: Kind("a whole number from 1 to 100", read_percent),
    Count: Kind("a whole number from 1 on", read_count),
    ScopeName: Kind("a name in small letters, such as default", _scope_name),
    VendorName: _one_of(VendorName),
    WireName: _one_of(WireName),
    SandboxName: _one_of(SandboxName),
    SearchName: _one_of(SearchName),
    ToolsetName: _one_of(ToolsetName),
    Choice: _one_of(Choice),
    GroupsName: _one_of(GroupsName),
    MembersName: _one_of(MembersName),
    SharingName: _one_of(SharingName),
    ResetRule: Kind('"never", "idle 8h" or "daily 04:00"', read_reset),
    BaseUrl: Kind(
        'an address such as "https://example.com/v1", without a password', _base_url, secret=True
    ),
    StoreAddress: Kind(
        'an address such as "postgresql://roost@db.example.com/roost", with %2F for a / in its '
        "password, %23 for #, %3F for ? and %40 for @",
        _store,
        secret=True,
    ),
    VariableName: Kind("the name of an environment variable", _variable, secret=True),
    Mapping[str, Key]: Kind('a table of texts such as { x-team = "birds" }', _headers, secret=True),
    Mapping[VariableName, Key]: Kind(
        'a table of texts such as { TOKEN = "abc" }', _environment, secret=True
    ),
}


def wrong(given: Given, kind: Kind) -> SettingWrong:
    value = _nature(given.value) if kind.secret else _as_written(given.value)
    if len(value) > 80:
        value = value[:80] + "…"
    return SettingWrong(key=given.key, source=given.source, expected=kind.expected, value=value)


def _as_written(value: object) -> str:
    """In TOML, as far as that differs from Python."""
    return repr(value).lower() if isinstance(value, bool) else repr(value)


def _nature(value: object) -> str:
    """What it is, without saying it."""
    match value:
        case str():
            return "other text" if value else "nothing"
        case bool() | int() | float():
            return "a number" if not isinstance(value, bool) else "true or false"
        case list():
            return "a list"
        case _:
            return "something else"


def unknown(given: Given, known: Iterable[SettingPath]) -> SettingUnknown:
    names = [dotted(_named(pattern, given.path)) for pattern in known]
    return SettingUnknown(key=given.key, source=given.source, hint=hint(given.key, names))


def _named(pattern: SettingPath, path: SettingPath) -> SettingPath:
    """The pattern with the names of the path in their places, as far as the two go together."""
    names = list(pattern)
    together = True
    for place, name in enumerate(pattern):
        written = path[place] if place < len(path) - 1 else "NAME"
        names[place] = (written if together else "NAME") if name == "*" else name
        together = together and names[place] == written
    return tuple(names)


def hint(name: str, known: Iterable[str]) -> str:
    best = closest(name, known)
    return "" if best is None else f" Did you mean {best}?"


def closest(name: str, known: Iterable[str]) -> str | None:
    """What was probably meant: the same word elsewhere, or one that looks like it."""
    known = list(known)
    last = name.rpartition(".")[2]
    elsewhere = [key for key in known if key.rpartition(".")[2] == last]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    best = difflib.get_close_matches(name, elsewhere, n=1, cutoff=0) or close
    return best[0] if best else None
