"""The log of fencing tokens, kept by the database itself: who claimed a session, and who wrote."""

from collections.abc import Iterator
from typing import NamedTuple

from roost.core.keys import StoreAddress
from roost.store.operations import Rows
from roost.store.postgres.connect import connect, fetch

_LOG = """
CREATE TABLE fences (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session TEXT NOT NULL,
    what    TEXT NOT NULL,
    token   BIGINT NOT NULL,
    writer  TEXT NOT NULL DEFAULT session_user
);

-- When its token is raised, by a claim or because its holder is gone, the session is locked, and so
-- is what streams in it: nothing of before can come after.
CREATE FUNCTION log_fence() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fences (session, what, token) VALUES (NEW.id, 'claim', NEW.token);
    RETURN NULL;
END $$;
CREATE TRIGGER log_fence AFTER UPDATE OF token ON sessions
FOR EACH ROW WHEN (OLD.token <> NEW.token) EXECUTE FUNCTION log_fence();

CREATE FUNCTION log_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fences (session, what, token)
    SELECT s.id, TG_TABLE_NAME, s.token FROM sessions s WHERE s.id = NEW.session_id;
    RETURN NULL;
END $$;
CREATE TRIGGER log_message AFTER INSERT ON messages
FOR EACH ROW EXECUTE FUNCTION log_write();
CREATE TRIGGER log_turn AFTER UPDATE ON turns
FOR EACH ROW WHEN (OLD.state <> NEW.state OR OLD.attempt <> NEW.attempt)
EXECUTE FUNCTION log_write();

CREATE FUNCTION log_delta() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fences (session, what, token)
    SELECT t.session_id, 'delta', t.token FROM streams t WHERE t.turn_id = NEW.turn_id;
    RETURN NULL;
END $$;
CREATE TRIGGER log_delta AFTER INSERT ON deltas
FOR EACH ROW EXECUTE FUNCTION log_delta();
"""

_HELD = """
SELECT count(*)
FROM leases l JOIN fences f ON 'session:' || f.session = l.name AND f.token = l.token
WHERE l.holder IS NOT NULL AND f.what = 'claim' AND f.writer = $1
  AND f.session IN (SELECT session_id FROM turns WHERE state IN ('queued', 'running'))"""


class Entry(NamedTuple):
    id: int
    session: str
    what: str
    token: int
    writer: str


class Fences:
    """Each server comes to the database under a name of its own: that is the writer."""

    def __init__(self, url: str) -> None:
        self._address = StoreAddress(url)

    async def keep(self, *writers: str) -> None:
        """Begin the log, for servers of these names."""
        roles = [f"CREATE ROLE {writer} SUPERUSER LOGIN;" for writer in writers]
        await self.ask(*roles, _LOG)

    async def held(self, writer: str) -> int:
        """How many sessions with something to do this server holds, or held when it was last heard
        of."""
        ((count,),) = await self.rows(_HELD, writer)
        return int(str(count))

    async def entries(self) -> list[Entry]:
        rows = await self.rows("SELECT id, session, what, token, writer FROM fences ORDER BY id")
        return [Entry(*row) for row in rows]  # pyright: ignore[reportArgumentType]

    async def ask(self, *statements: str) -> None:
        connection = await connect(self._address, cached=False)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close(timeout=60)

    async def rows(self, sql: str, *values: str) -> Rows:
        connection = await connect(self._address, cached=False)
        try:
            return await fetch(connection, sql, *values)
        finally:
            await connection.close(timeout=60)


def broken_fences(entries: list[Entry]) -> Iterator[str]:
    """One writer at a time: tokens rise, and whoever writes is who has claimed the last of them."""
    claims: dict[str, Entry] = {}
    for entry in entries:
        last = claims.get(entry.session)
        if entry.what == "claim":
            if last is not None and entry.token <= last.token:
                yield f"{entry} after {last}"
            claims[entry.session] = entry
        elif last is None or (entry.token, entry.writer) != (last.token, last.writer):
            yield f"{entry} under {last}"
