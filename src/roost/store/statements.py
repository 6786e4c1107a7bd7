"""Named SQL statements: those that both databases understand, and those of one dialect."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from operator import itemgetter

import msgspec

from roost.store.operations import SqlValue

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_DIRECTIVE = re.compile(r"^-- (locks|holds|tells): (\w+)\n", re.MULTILINE)
_PARAMETER = re.compile(r"(?<!:):([a-z_]+)")


class Statement(msgspec.Struct, frozen=True):
    """`parameters` are the names it takes, in the order in which the database numbers them; `now`
    among them is filled in by the engine, whose clock is the store's. `values` puts what a query
    gives into that order: bound by name, SQLite looks up each of them anew.

    Where there are several writers, `locks` names the statement that a transaction which writes
    runs before this one, and `holds` the one that it need not run any more after this one. One that
    `tells` the transaction has its number as its last column, for the engine."""

    name: str
    sql: str
    parameters: tuple[str, ...]
    values: Callable[[Mapping[str, SqlValue]], Sequence[SqlValue]]
    locks: str | None = None
    holds: str | None = None
    tells: str | None = None


def parse(text: str) -> dict[str, Statement]:
    _, *pieces = _NAME.split(text)
    found: dict[str, Statement] = {}
    for name, sql in zip(pieces[::2], pieces[1::2], strict=True):
        if name in found:
            raise ValueError(f"two statements are named {name}")
        directives = dict(_DIRECTIVE.findall(sql))
        # Without comments: the next statement's would be prepared as one more.
        code = re.sub(r"--[^\n]*", "", sql).strip()
        names = tuple(dict.fromkeys(_PARAMETER.findall(code)))
        found[name] = Statement(name, code, names, _in_order(names), **directives)
    return found


def _in_order(names: tuple[str, ...]) -> Callable[[Mapping[str, SqlValue]], Sequence[SqlValue]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda given: [given[name] for name in names]


@cache
def load(dialect: str) -> Mapping[str, Statement]:
    """Every statement of `sql/both/*.sql` and of `sql/<dialect>/*.sql`. Read once: that is a
    large part of opening a store."""
    sql = resources.files("roost.store") / "sql"
    files = [
        item
        for folder in (sql / "both", sql / dialect)
        for item in sorted(folder.iterdir(), key=lambda item: item.name)
        if item.name.endswith(".sql")
    ]
    return parse("\n".join(item.read_text(encoding="utf-8") for item in files))
