"""Numbered migrations: what they are, and which stores this Roost may open."""

import hashlib
import re
from importlib import resources

import msgspec

from roost.core.errors import StoreTooNew

_FILE = re.compile(r"(\d{4})_\w+\.sql")
_MINIMUM = re.compile(r"^-- min_version: (\d+)$", re.MULTILINE)


class Migration(msgspec.Struct, frozen=True):
    """`minimum` is the lowest schema version whose Roost can still work on the result."""

    version: int
    minimum: int
    sql: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


class Schema(msgspec.Struct, frozen=True, array_like=True):
    """What a store says of itself; version 0 is an empty one."""

    version: int = 0
    minimum: int = 0


def load(dialect: str) -> list[Migration]:
    folder = resources.files("roost.store") / "sql" / dialect / "migrations"
    found: list[Migration] = []
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if match := _FILE.fullmatch(item.name):
            sql = item.read_text(encoding="utf-8")
            minimum = _MINIMUM.search(sql)
            assert minimum is not None, f"{item.name} does not say its min_version"
            found.append(Migration(int(match[1]), int(minimum[1]), sql))
    first = found[0].version  # a dialect that came later begins with the version it came with
    versions = list(range(first, first + len(found)))
    assert [m.version for m in found] == versions, "migrations have a gap"
    return found


def pending(schema: Schema, known: list[Migration], path: object) -> list[Migration]:
    """The migrations a store still needs. One that needs a newer Roost is refused."""
    newest = known[-1].version
    if schema.minimum > newest:
        raise StoreTooNew(path=path, version=schema.version, minimum=schema.minimum, known=newest)
    return [migration for migration in known if migration.version > schema.version]


SCHEMA_VERSION = load("sqlite")[-1].version
"""The schema this Roost knows. The dialects share their numbers."""
