-- The server itself, as it is now. Seen by the database's clock, as leases are.
-- name: beat_server
INSERT INTO servers (id, host, pid, version, address, started_at, seen_at, draining)
VALUES (:server, :host, :pid, :version, :address, :started_at, :now, :draining)
ON CONFLICT (id) DO UPDATE
SET host = excluded.host, pid = excluded.pid, version = excluded.version,
    address = excluded.address, started_at = excluded.started_at, seen_at = excluded.seen_at,
    draining = excluded.draining;

-- name: known_servers
SELECT id, host, pid, version, address, started_at, draining, :now - seen_at FROM servers ORDER BY id;

-- Those that another server is about to bury are left to it.
-- name: silent_servers
SELECT id FROM servers WHERE id <> :server AND seen_at < :now - :silence
ORDER BY id FOR UPDATE SKIP LOCKED;

-- name: forget_server
DELETE FROM servers WHERE id = :server;

-- Where a session's workspace is, whether that server lives, and who works on the session now.
-- name: workspace_of
-- locks: lock_session
SELECT s.workspace_at,
    (SELECT coalesce(v.address, v.host) FROM servers v WHERE v.id = s.workspace_at AND v.draining = 0),
    (SELECT split_part(l.holder, ':', 1) FROM leases l
     WHERE l.name = 'session:' || s.id AND l.until > :now)
FROM sessions s WHERE s.id = :session;

-- name: settle_workspace
UPDATE sessions SET workspace_at = :server WHERE id = :session;

-- Sessions that nobody has said to have, as after a move from SQLite.
-- name: settle_workspaces
UPDATE sessions SET workspace_at = :server
WHERE id IN (SELECT json_array_elements_text(:sessions)) AND workspace_at IS NULL;

-- name: workspaces_over
SELECT id FROM sessions
WHERE id IN (SELECT json_array_elements_text(:sessions))
  AND (workspace_at <> :server OR ended_at IS NOT NULL);
