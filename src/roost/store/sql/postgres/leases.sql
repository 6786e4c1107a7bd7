-- Whoever claims a session's lease locks the session first, as all who write to it do: in another order
-- they would wait for one another.
-- name: lock_session_of_lease
SELECT 1 FROM sessions WHERE :name LIKE 'session:%' AND id = substr(:name, 9) FOR NO KEY UPDATE;

-- name: claim_lease
-- locks: lock_session_of_lease
INSERT INTO leases (name, token, holder, since, until)
VALUES (:name,
    coalesce((SELECT token FROM sessions WHERE :name LIKE 'session:%' AND id = substr(:name, 9)), 0)
        + 1,
    :holder, :now, :now + :ttl)
ON CONFLICT (name) DO UPDATE
SET token = greatest(leases.token + 1, excluded.token), holder = excluded.holder,
    since = excluded.since, until = excluded.until
WHERE leases.holder IS NULL OR leases.until <= :now
RETURNING name, holder, token, since, until;

-- name: fence_session
WITH stream AS (UPDATE streams SET token = :token WHERE session_id = :session)
UPDATE sessions SET token = :token WHERE id = :session AND deleted_at IS NULL RETURNING 1;

-- A server that starts anew, or is gone: its leases are void, and its tokens are raised, so that not
-- even a ghost can write. First its sessions are locked: others may be about to claim what has lapsed,
-- and only once nobody can is it seen what is still its own.
-- name: lock_sessions_of_server
SELECT id FROM sessions
WHERE id IN (SELECT substr(name, 9) FROM leases
             WHERE holder IS NOT NULL AND starts_with(holder, :host || ':')
               AND name LIKE 'session:%')
ORDER BY id FOR NO KEY UPDATE;

-- name: void_session_tokens
WITH held AS (
    SELECT j.id FROM json_array_elements_text(:sessions) j (id)
        JOIN leases l ON l.name = 'session:' || j.id
    WHERE l.holder IS NOT NULL AND starts_with(l.holder, :host || ':')),
streaming AS (UPDATE streams t SET token = token + 1 FROM held WHERE t.session_id = held.id)
UPDATE sessions s SET token = token + 1 FROM held WHERE s.id = held.id;

-- name: void_leases
UPDATE leases SET token = token + 1, holder = NULL, until = 0
WHERE holder IS NOT NULL AND starts_with(holder, :host || ':')
  AND (name NOT LIKE 'session:%'
       OR substr(name, 9) IN (SELECT json_array_elements_text(:sessions)));
