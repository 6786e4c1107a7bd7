-- name: find_pairing
SELECT channel, sender, user_id, state, name, created_at, expires_at, decided_at, decided_by
FROM pairings WHERE channel = :channel AND sender = :sender;

-- name: list_pairings
SELECT channel, sender, user_id, state, name, created_at, expires_at, decided_at, decided_by
FROM pairings
WHERE (:channel IS NULL OR channel = :channel)
  AND (state <> 'pending' OR expires_at > :now)
ORDER BY created_at DESC, channel, sender;

-- name: count_pending
SELECT count(*) FROM pairings WHERE channel = :channel AND state = 'pending' AND expires_at > :now;

-- Whoever has a code that holds gets no other.
-- name: offer_pairing
INSERT INTO pairings (channel, sender, state, code_hash, name, created_at, expires_at)
VALUES (:channel, :sender, 'pending', :code, :name, :now, :now + :ttl)
ON CONFLICT (channel, sender) DO UPDATE
SET code_hash = excluded.code_hash, name = excluded.name, created_at = excluded.created_at,
    expires_at = excluded.expires_at
WHERE pairings.state = 'pending' AND pairings.expires_at <= :now
RETURNING 1;

-- name: expire_pairings
-- locks: lock_pairings
DELETE FROM pairings WHERE channel = :channel AND state = 'pending' AND expires_at <= :now;

-- Of two who approve at once, one does (pairings_code).
-- name: approve_pairing
UPDATE pairings
SET user_id = :user, state = 'approved', code_hash = NULL, expires_at = NULL, decided_at = :now,
    decided_by = :by
WHERE code_hash = :code AND state = 'pending' AND expires_at > :now
RETURNING channel, sender, user_id, state, name, created_at, expires_at, decided_at, decided_by;

-- name: put_pairing
INSERT INTO pairings (channel, sender, user_id, state, name, created_at, decided_at, decided_by)
VALUES (:channel, :sender, :user, :state, :name, :now, :now, :by)
ON CONFLICT (channel, sender) DO UPDATE
SET user_id = excluded.user_id, state = excluded.state, code_hash = NULL, expires_at = NULL,
    name = coalesce(excluded.name, pairings.name), decided_at = excluded.decided_at,
    decided_by = excluded.decided_by;

-- name: remove_pairing
DELETE FROM pairings WHERE channel = :channel AND sender = :sender RETURNING 1;

-- name: sender_on_route
SELECT sender FROM routes WHERE user_id = :user AND key = :route AND sender IS NOT NULL;
