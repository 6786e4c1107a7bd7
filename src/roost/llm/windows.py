"""How much context a known model takes: figures from the price list, made by `tools.windows`."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import msgspec

DATED = re.compile(r"[-@](20\d{2}-\d{2}-\d{2}|20\d{6})$")

Windows = Mapping[str, int | None]


@cache
def _windows() -> Mapping[str, Windows]:
    path = Path(__file__).with_name("windows.json")
    return msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, int | None]])


def window(price_list: str, model: str) -> int | None:
    return lookup(_windows().get(price_list, {}), model)


def lookup(windows: Windows, model: str) -> int | None:
    """By the exact name, with or without its date, or by the first glob that matches."""
    model = model.lower()
    undated = DATED.sub("", model)
    for name in (model, undated):
        if name in windows:
            return windows[name]
    globs = [name for name in windows if "*" in name and fnmatchcase(model, name)]
    # The longest says the most: claude-opus-4-5* before claude-opus-4*.
    return windows[max(globs, key=len)] if globs else None
