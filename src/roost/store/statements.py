"""Named SQL statements, read from the files of one dialect."""

import re
from collections.abc import Mapping
from importlib import resources

import msgspec

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_PARAMETER = re.compile(r"(?<!:):([a-z_]+)")


class Statement(msgspec.Struct, frozen=True):
    """`parameters` are the names it takes; `now` among them is filled in by the engine, whose clock
    is the store's."""

    name: str
    sql: str
    parameters: frozenset[str]


def parse(text: str) -> dict[str, Statement]:
    _, *pieces = _NAME.split(text)
    found: dict[str, Statement] = {}
    for name, sql in zip(pieces[::2], pieces[1::2], strict=True):
        if name in found:
            raise ValueError(f"two statements are named {name}")
        # Without comments: the next statement's would be prepared as one more.
        code = re.sub(r"--[^\n]*", "", sql).strip()
        found[name] = Statement(name, code, frozenset(_PARAMETER.findall(code)))
    return found


def load(dialect: str) -> Mapping[str, Statement]:
    """Every statement of `sql/<dialect>/*.sql`."""
    folder = resources.files("roost.store") / "sql" / dialect
    files = sorted(
        (item for item in folder.iterdir() if item.name.endswith(".sql")),
        key=lambda item: item.name,
    )
    return parse("\n".join(item.read_text(encoding="utf-8") for item in files))
