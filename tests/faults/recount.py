"""Counts everything in a store again, with SQL of its own, and says where the store disagrees."""

import hashlib
from pathlib import Path

from roost.store.folder import BLOBS, DATABASE
from roost.store.sqlite.connect import Connection, connect_reader

SQLITE = {
    "streams": "(SELECT r.* FROM streams r JOIN sessions s ON s.id = r.session_id"
    " WHERE r.attempt = s.attempt)",
    "events": "(SELECT session_id, revision FROM events"
    " UNION ALL SELECT session_id, revision FROM message_rows WHERE events IS NOT NULL)",
}
POSTGRES = {"streams": "streams", "events": "events"}
"""Where each has the streams that deltas belong to, and what every revision did."""

# In words that PostgreSQL knows too, but for the index.
CHECKS = {
    "the number of live messages": """
        SELECT s.id, s.messages, count(m.id) FROM sessions s
        LEFT JOIN message_rows m ON m.session_id = s.id AND m.gone IS NULL
        WHERE s.deleted_at IS NULL GROUP BY s.id HAVING s.messages <> count(m.id)""",
    "the number of turns": """
        SELECT s.id, s.turns, count(t.id) FROM sessions s
        LEFT JOIN turns t ON t.session_id = s.id AND t.start IS NOT NULL AND t.undone IS NULL
        WHERE s.deleted_at IS NULL GROUP BY s.id HAVING s.turns <> count(t.id)""",
    "usage": """
        SELECT s.id, s.input_tokens, s.output_tokens, s.cost, s.unpriced,
            sum(u.input_tokens), sum(u.output_tokens), sum(u.cost), sum(u.unpriced)
        FROM sessions s LEFT JOIN usage u ON u.session_id = s.id
        WHERE s.deleted_at IS NULL GROUP BY s.id
        HAVING s.input_tokens <> coalesce(sum(u.input_tokens), 0)
            OR s.output_tokens <> coalesce(sum(u.output_tokens), 0)
            OR s.cost <> coalesce(sum(u.cost), 0) OR s.unpriced <> coalesce(sum(u.unpriced), 0)""",
    "one message per live position": """
        SELECT session_id, position, count(*) FROM message_rows WHERE gone IS NULL
        GROUP BY session_id, position HAVING count(*) > 1""",
    "messages inside their epochs": """
        SELECT m.id, m.born, m.gone, s.epoch
        FROM message_rows m JOIN sessions s ON s.id = m.session_id
        WHERE m.born > s.epoch OR m.gone > s.epoch OR m.gone <= m.born
            OR m.revision > s.revision""",
    "one live turn": """
        SELECT session_id, count(*) FROM turns WHERE state IN ('running', 'waiting')
        GROUP BY session_id HAVING count(*) > 1""",
    "a stream for a running turn only": """
        SELECT t.turn_id FROM streams t LEFT JOIN turns u ON u.id = t.turn_id
        WHERE coalesce(u.state, '') <> 'running' OR u.attempt >= t.attempt""",
    "deltas without a gap": """
        SELECT t.turn_id, t.last_seq, d.last_seq
        FROM {streams} t LEFT JOIN deltas d ON d.id = t.last_delta
        WHERE t.last_seq <> coalesce(d.last_seq, 0) OR d.turn_id <> t.turn_id""",
    "tokens that fence": """
        SELECT s.id, s.token, l.token FROM sessions s JOIN leases l ON l.name = 'session:' || s.id
        WHERE s.deleted_at IS NULL AND s.token <> l.token""",
    "what a user's blobs take": """
        SELECT user_id, sum(bytes), sum(size) FROM (
            SELECT user_id, bytes, 0 AS size FROM blob_totals
            UNION ALL SELECT user_id, 0, size FROM blobs) AS counted
        GROUP BY user_id HAVING sum(bytes) <> sum(size)""",
    "questions of turns that wait for them": """
        SELECT a.id, t.state FROM approvals a JOIN turns t ON t.id = a.turn_id
        JOIN sessions s ON s.id = a.session_id
        WHERE a.state = 'pending' AND t.state <> 'waiting' AND s.deleted_at IS NULL""",
}

_INDEX = {
    "the search index": """
        SELECT indexed, expected, there FROM (
            SELECT p.indexed,
                (SELECT count(*) FROM messages WHERE seq <= p.indexed) AS expected,
                (SELECT count(*) FROM search_docsize) AS there
            FROM search_progress p)
        WHERE expected <> there""",
}

LOGS = {
    "a stream for every running turn": """
        SELECT id FROM turns WHERE state = 'running' AND id NOT IN (SELECT turn_id FROM streams)""",
    "the newest position": """
        SELECT s.id, s.head, max(m.position)
        FROM sessions s JOIN message_rows m ON m.session_id = s.id
        WHERE s.deleted_at IS NULL GROUP BY s.id HAVING s.head <> max(m.position)""",
    "events without a gap": """
        SELECT s.id, s.revision, count(e.revision), min(e.revision), max(e.revision) FROM sessions s
        LEFT JOIN {events} e ON e.session_id = s.id
        WHERE s.deleted_at IS NULL GROUP BY s.id
        HAVING count(e.revision) <> s.revision OR max(e.revision) <> s.revision
            OR min(e.revision) <> 1""",
    "epochs without a gap": """
        SELECT s.id, s.epoch, count(e.epoch), max(e.epoch) FROM sessions s
        LEFT JOIN epochs e ON e.session_id = s.id
        WHERE s.deleted_at IS NULL GROUP BY s.id
        HAVING s.epoch <> count(e.epoch) OR s.epoch <> coalesce(max(e.epoch), 0)""",
    "deltas that join on to one another": """
        WITH RECURSIVE chain (id, turn_id, first_seq, previous) AS (
            SELECT d.id, d.turn_id, d.first_seq, d.previous
            FROM {streams} t JOIN deltas d ON d.id = t.last_delta
            UNION ALL
            SELECT d.id, d.turn_id, d.first_seq, d.previous
            FROM chain c JOIN deltas d ON d.id = c.previous)
        SELECT c.turn_id, c.first_seq, p.last_seq
        FROM chain c LEFT JOIN deltas p ON p.id = c.previous
        WHERE c.first_seq <> coalesce(p.last_seq, 0) + 1 OR p.turn_id <> c.turn_id""",
    "the order of the outbox": """
        SELECT route, count(*), max(ordinal) FROM outbox GROUP BY route
        HAVING count(*) <> max(ordinal)""",
}

_NAMED = """
    SELECT DISTINCT n.blob_id FROM session_blobs n JOIN sessions s ON s.id = n.session_id
    WHERE s.deleted_at IS NULL"""

_UNTIED = """
    SELECT DISTINCT m.id, p.value ->> 'blob'
    FROM message_rows m JOIN sessions s ON s.id = m.session_id, json_each(m.parts) p
    WHERE s.deleted_at IS NULL AND p.value ->> 'blob' IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM session_blobs n
        WHERE n.session_id = m.session_id AND n.blob_id = p.value ->> 'blob')"""


def recount(folder: Path, *, logs: bool = True, blobs: bool = True) -> list[str]:
    """What does not add up in the store of a folder. `logs` asks for every entry from the first on,
    which an imported or a rescued session need not have."""
    connection = connect_reader(folder / DATABASE)
    try:
        checks = CHECKS | _INDEX | (LOGS if logs else {})
        wrong = [
            f"{what}: {row}"
            for what, sql in checks.items()
            for row in connection.rows(sql.format_map(SQLITE))
        ]
        if blobs:
            wrong += _blobs(connection, folder / BLOBS)
        return wrong
    finally:
        connection.close()


def _blobs(connection: Connection, folder: Path) -> list[str]:
    wrong = [
        f"a message names a blob that its session does not: {row}"
        for row in connection.rows(_UNTIED)
    ]
    for (found,) in connection.rows(_NAMED):
        blob = str(found)
        path = folder / blob[:2] / blob
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != blob:
            wrong.append(f"the bytes of blob {blob} are missing or wrong")
    return wrong
