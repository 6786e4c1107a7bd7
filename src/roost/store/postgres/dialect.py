"""The named statements as asyncpg takes them: parameters numbered, and each with its type."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import msgspec

from roost.store import statements
from roost.store.lexemes import lexemes, vector
from roost.store.operations import SqlValue
from roost.store.statements import Statement

_PARAMETER = re.compile(r"(?<!:):([a-z_]+)(::\w+)?")

CLOCK = "(extract(epoch FROM statement_timestamp()) * 1000)::bigint"
"""The server's clock at the arrival of a statement. Unlike `clock_timestamp()` it can be looked up
in an index; unlike `now()` it does not stand still while a transaction waits for a lock."""

_TYPES = {
    "bigint": (
        "active_at adds after answers archived at attempt automatic before before_at bytes "
        "cache_write_tokens cached_tokens calls context cost counts created_at days delay "
        "draining due end ended ended_at entity ephemeral epoch expires_at fact_length "
        "failures filed first front head idle indexed input_tokens keep limit most now number "
        "ordinal output_tokens partial paused pid pinned position reasoning_tokens revision "
        "seen seq set_project set_title silence since size start started_at steer step steps "
        "subagents tick token ttl until unusable wait window"
    ),
    "json": "batch entities held ids messages names rows seqs sessions terms turns users vectors",
    "bytea": "code data fingerprint hash sealed vector",
    "float": "change trust",
}
_TYPE = {name: type for type, names in _TYPES.items() for name in names.split()}
"""All others are text. A statement that means something else says so, as in `:after::text`."""

Given = Mapping[str, SqlValue]


def _vectors(given: Given) -> SqlValue:
    batch = msgspec.json.decode(str(given["batch"]), type=list[tuple[int, str, str]])
    made = [(seq, vector(scope, words)) for seq, scope, words in batch]
    return msgspec.json.encode(made).decode()


_DERIVED: dict[str, Callable[[Given], SqlValue]] = {
    "vectors": _vectors,
    "fact_vector": lambda given: vector("", str(given["words"])),
    "fact_length": lambda given: len(lexemes(str(given["words"]))),
}
"""What a statement is given in place of the text that FTS5 makes words of itself."""


@cache
def load(*, server_clock: bool) -> Mapping[str, Statement]:
    """With the server's clock `:now` is no parameter."""
    found = statements.load("postgres")
    return {name: _numbered(each, server_clock) for name, each in found.items()}


def _numbered(statement: Statement, server_clock: bool) -> Statement:
    names = tuple([n for n in statement.parameters if not (server_clock and n == "now")])

    def number(match: re.Match[str]) -> str:
        name, own = match[1], match[2]
        if server_clock and name == "now":
            return CLOCK
        return f"${names.index(name) + 1}{own or '::' + _TYPE.get(name, 'text')}"

    return msgspec.structs.replace(
        statement,
        sql=_PARAMETER.sub(number, statement.sql.rstrip(";")),
        parameters=names,
        values=_in_order(names),
    )


def _in_order(names: tuple[str, ...]) -> Callable[[Given], Sequence[SqlValue]]:
    def values(given: Given) -> Sequence[SqlValue]:
        return [_DERIVED[name](given) if name in _DERIVED else given[name] for name in names]

    return values
