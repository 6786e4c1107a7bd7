"""Rewrite src/roost/llm/windows.json, the context lengths of known models, from genai-prices.

Run it after genai-prices was upgraded: `python -m tools.windows`. The lengths are copied because
loading the price list takes about a second, and every first request needs a length.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from genai_prices import types
from genai_prices.data import providers

from roost.llm.profiles import VENDORS
from roost.llm.windows import DATED, lookup

PATH = Path(__file__).parents[1] / "src" / "roost" / "llm" / "windows.json"


def globs(clause: types.MatchLogic) -> Iterator[str]:
    """The names that a clause matches, as globs. Dates are cut off before one is looked up."""
    match clause:
        case types.ClauseEquals():
            yield DATED.sub("", clause.equals.lower())
        case types.ClauseStartsWith():
            yield clause.starts_with.lower() + "*"
        case types.ClauseEndsWith():
            yield "*" + clause.ends_with.lower()
        case types.ClauseContains():
            yield f"*{clause.contains.lower()}*"
        case types.ClauseOr():
            for each in clause.or_:
                yield from globs(each)
        case types.ClauseAnd():
            yield from globs(clause.and_[0])
        case types.ClauseRegex():
            return


def windows_of(provider: types.Provider) -> dict[str, int | None]:
    """First come, first served, as the list itself does it. A model of unknown length is only
    there if another one's glob would speak for it."""
    windows: dict[str, int | None] = {}
    for model in provider.models:
        for glob in globs(model.match):
            known = model.context_window is not None
            if known or lookup(windows, glob.replace("*", "")) is not None:
                windows.setdefault(glob, model.context_window)
    return windows


def main() -> None:
    lists = {provider.id: windows_of(provider) for provider in providers}
    wanted = sorted({vendor.price_list for vendor in VENDORS.values() if vendor.price_list})
    text = json.dumps({name: lists[name] for name in wanted}, indent=0, sort_keys=False)
    PATH.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
