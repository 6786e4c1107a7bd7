"""What moves from SQLite to PostgreSQL, in an order in which every row finds those it names."""

import msgspec

from roost.store.operations import SqlValue

Key = tuple[SqlValue, ...]


class Table(msgspec.Struct, frozen=True):
    """Rows are read by `key`, in the same order on both sides. `taken` says where SQLite has a
    column that only PostgreSQL stores, and `gathered` where it has rows; `beside` are rows of
    PostgreSQL's own."""

    name: str
    key: tuple[str, ...]
    taken: dict[str, str] = {}
    gathered: str = ""
    beside: str = "false"

    @property
    def source(self) -> str:
        return self.gathered or self.name


def _table(name: str, *key: str) -> Table:
    return Table(name, key or ("id",))


# Whoever held a lease is gone, and the token is raised as it is at every start.
_RAISED = "EXISTS (SELECT 1 FROM leases WHERE name = 'session:' || s.id AND holder IS NOT NULL)"


def _token_of(session: str) -> dict[str, str]:
    return {"token": f"(SELECT s.token + {_RAISED} FROM sessions s WHERE s.id = {session})"}  # noqa: S608


# Each stream has the numbers of its attempt there, and here the session that it runs in.
_LIVE = "(SELECT s.attempt FROM sessions s WHERE s.id = streams.session_id)"
_STREAM = {
    **_token_of("streams.session_id"),
    "step": "(SELECT s.step FROM sessions s WHERE s.id = streams.session_id)",
    "attempt": _LIVE,
    "last_seq": f"iif(attempt = {_LIVE}, last_seq, 0)",
    "first_delta": f"iif(attempt = {_LIVE}, first_delta, NULL)",
    "last_delta": f"iif(attempt = {_LIVE}, last_delta, NULL)",
}

_EVENTS = """(
    SELECT row_number() OVER (ORDER BY at, session_id, revision) AS seq,
        session_id, revision, body, at
    FROM (SELECT session_id, revision, body, at FROM events
        UNION ALL
        SELECT session_id, revision, events, created_at FROM message_rows
        WHERE events IS NOT NULL))"""

PIECES = _table("blob_pieces", "blob_id", "number")
"""On SQLite the bytes are files."""

TABLES = (
    _table("users"),
    _table("sign_ins"),
    _table("api_tokens"),
    Table("settings", ("user_id", "key"), beside="user_id = '' AND key = 'sealed'"),
    _table("secrets", "user_id", "name"),
    Table("sessions", ("id",), _token_of("sessions.id")),
    _table("prompts", "session_id", "revision"),
    _table("routes", "user_id", "key"),
    _table("pairings", "channel", "sender"),
    Table("messages", ("seq",), gathered="message_rows"),
    _table("epochs", "session_id", "epoch"),
    _table("memory_segments"),
    _table("turns"),
    Table("streams", ("turn_id",), _STREAM),
    _table("deltas"),
    _table("tool_calls", "session_id", "id"),
    _table("approvals"),
    _table("approval_rules"),
    _table("blobs", "user_id", "id"),
    PIECES,
    _table("session_blobs", "session_id", "blob_id"),
    _table("inbox", "channel", "external_id"),
    _table("channel_cursors", "channel", "name"),
    _table("outbox"),
    _table("outbox_pieces", "outbox_id", "number"),
    _table("progress", "turn_id", "route"),
    _table("schedules"),
    _table("schedule_runs", "schedule_id", "tick"),
    Table("usage", ("seq",), {"seq": "rowid"}),
    Table("events", ("seq",), gathered=_EVENTS),
    _table("facts", "seq"),
    _table("facts_applied", "user_id", "scope", "key"),
    _table("entities"),
    _table("entity_names", "user_id", "scope", "folded"),
    _table("fact_entities", "fact_id", "ordinal"),
    _table("search_vectors", "seq"),
)

LEFT = frozenset(
    {
        "schema",  # each side has its own
        "migration",
        "leases",  # void; their tokens go on from those of the sessions
        "servers",
        "search",  # made again from what it is an index of
        "search_queue",
        "search_facts",
        "blob_totals",  # triggers count what comes
    }
)
"""What stays behind, or is made anew."""
