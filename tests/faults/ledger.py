"""What a writer in another process asked for and was answered, held against what is on disk."""

from collections import defaultdict

import msgspec

from roost.store.operations import SqlValue
from roost.store.sqlite.connect import Connection

KEYS = {
    "users": "id",
    "sessions": "id",
    "turns": "id",
    "messages": "id",
    "streams": "turn_id",
    "tool_calls": "session_id || '/' || id",
    "outbox": "id",
    "routes": "key",
    "settings": "key",
    "blobs": "id",
}
"""What a row of each table is called by."""


class Fact(msgspec.Struct, frozen=True, array_like=True):
    """A column of a row, or an expression over it; None also stands for a row that is not there."""

    table: str
    key: str
    column: str
    value: int | str | None


class Ask(msgspec.Struct, frozen=True, tag="ask"):
    """A write that is about to be asked for: what will be true once it is done, all of it or none.
    `raises` says that it raises its session's revision, by one."""

    number: int
    session: str
    raises: bool
    facts: tuple[Fact, ...]


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    number: int


class Born(msgspec.Struct, frozen=True, tag="born"):
    pid: int


class Opened(msgspec.Struct, frozen=True, tag="opened"):
    """The store is open, and whatever the predecessor left has been dealt with."""


class Broke(msgspec.Struct, frozen=True, tag="broke"):
    """The writer itself saw something that must not be."""

    why: str


class Died(msgspec.Struct, frozen=True, tag="died"):
    pid: int
    status: int


Line = Ask | Answered | Born | Opened | Broke | Died

encode_line = msgspec.json.Encoder().encode
decode_line = msgspec.json.Decoder(Line).decode


class Ledger:
    """Everything that must be stored: exactly what was answered, and of what was in flight when the
    writer died, each write wholly or not at all."""

    def __init__(self) -> None:
        self.answers = 0
        self._asked: dict[int, Ask] = {}
        self._rows: dict[tuple[str, str], dict[str, SqlValue]] = defaultdict(dict)
        self._touched: set[tuple[str, str]] = set()
        self._revisions: dict[str, int] = defaultdict(int)
        self._session_of: dict[tuple[str, str], str] = {}

    def hear(self, line: Line) -> None:
        match line:
            case Ask():
                self._asked[line.number] = line
            case Answered():
                self.answers += 1
                self._take(self._asked.pop(line.number))
            case Broke():
                raise AssertionError(line.why)
            case _:
                pass

    def _take(self, ask: Ask) -> None:
        for fact in ask.facts:
            row = (fact.table, fact.key)
            self._rows[row][fact.column] = fact.value
            self._session_of[row] = ask.session
            self._touched.add(row)
        self._revisions[ask.session] += ask.raises
        if any(fact.column == "deleted_at IS NOT NULL" for fact in ask.facts):
            self._forget(ask.session)

    def _forget(self, session: str) -> None:
        """A deleted session's rows go in the background, at some time."""
        self._revisions.pop(session, None)
        for row in [row for row, owner in self._session_of.items() if owner == session]:
            del self._rows[row], self._session_of[row]
            self._touched.discard(row)

    def settle(self, connection: Connection, *, everything: bool) -> list[str]:
        """After a death: see how what was in flight ended, then compare, and say what is wrong."""
        for ask in self._asked.values():
            if ask.facts and all(_stored(connection, fact) == fact.value for fact in ask.facts):
                self._take(ask)
        self._asked.clear()
        rows = set(self._rows) if everything else self._touched
        wrong = [problem for row in rows for problem in self._compare(connection, row)]
        self._touched = set()
        return wrong + self._compare_revisions(connection) + self._count(connection)

    def _compare(self, connection: Connection, row: tuple[str, str]) -> list[str]:
        table, key = row
        return [
            f"{table} {key}: {column} is {found!r}, {expected!r} was acknowledged"
            for column, expected in self._rows[row].items()
            if (found := _stored(connection, Fact(table, key, column, None))) != expected
        ]

    def _compare_revisions(self, connection: Connection) -> list[str]:
        rows = connection.rows(
            "SELECT id, revision FROM sessions"
            " WHERE deleted_at IS NULL AND parent_kind IS NOT 'branch'"
        )
        found = {str(session): revision for session, revision in rows}
        expected = {session: count for session, count in self._revisions.items() if count}
        return [
            f"session {session}: revision {found.get(session)}, {expected.get(session)} writes"
            for session in found.keys() | expected.keys()
            if found.get(session) != expected.get(session)
        ]

    def _count(self, connection: Connection) -> list[str]:
        """Nothing is stored twice, and nothing that was never asked for."""
        wrong: list[str] = []
        for table, stored in (("messages", "message_rows"), ("turns", "turns")):
            counted = connection.rows(
                f"SELECT count(*) FROM {stored} t JOIN sessions s ON s.id = t.session_id"
                " WHERE s.deleted_at IS NULL AND s.parent_kind IS NOT 'branch'"
            )[0][0]
            asked = sum(row[0] == table for row in self._rows)
            if counted != asked:
                wrong.append(f"{counted} {table} are stored, {asked} were written")
        return wrong


def _stored(connection: Connection, fact: Fact) -> SqlValue:
    rows = connection.rows(
        f"SELECT {fact.column} FROM {fact.table} WHERE {KEYS[fact.table]} = ?",
        (fact.key,),
    )
    return rows[0][0] if rows else None
