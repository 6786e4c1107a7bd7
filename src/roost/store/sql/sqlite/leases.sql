-- name: claim_lease
INSERT INTO leases (name, token, holder, since, until)
VALUES (:name,
    coalesce((SELECT token FROM sessions WHERE 'session:' || id = :name AND id = substr(:name, 9)), 0)
        + 1,
    :holder, :now, :now + :ttl)
ON CONFLICT (name) DO UPDATE
SET token = max(leases.token + 1, excluded.token), holder = excluded.holder, since = excluded.since, until = excluded.until
WHERE leases.holder IS NULL OR leases.until <= :now
RETURNING name, holder, token, since, until;

-- name: fence_session
UPDATE sessions SET token = :token WHERE id = :session AND deleted_at IS NULL RETURNING 1;

-- A sole owner's predecessor is gone: its tokens are raised, so that not even a ghost can write.
-- name: void_session_tokens
UPDATE sessions SET token = token + 1
WHERE id IN (SELECT substr(name, 9) FROM leases WHERE holder IS NOT NULL AND name GLOB 'session:*');

-- name: void_leases
UPDATE leases SET token = token + 1, holder = NULL, until = 0 WHERE holder IS NOT NULL;
