-- Codes are counted before another is given out.
-- name: lock_pairings
SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('pairings:' || :channel, 0));

-- Whose it is already stays whose it is, and is locked: it is read next.
-- name: claim_pairing
INSERT INTO pairings (channel, sender, user_id, state, name, created_at, decided_at, decided_by)
VALUES (:channel, :sender, :user, 'approved', :name, :now, :now, :user)
ON CONFLICT (channel, sender) DO UPDATE SET state = pairings.state WHERE false;

-- name: person_on_route
UPDATE routes SET sender = :sender
WHERE user_id = :user AND key = :route AND sender IS DISTINCT FROM :sender;

-- As lock_route, for each of them.
-- name: lock_routes_of_person
WITH theirs AS MATERIALIZED (
    SELECT user_id, key FROM routes
    WHERE key > :after::text AND key < :last AND sender = :sender
    ORDER BY user_id, key)
SELECT 1 FROM theirs, pg_advisory_xact_lock(hashtextextended('route:' || user_id || ':' || key, 0));

-- Private routes of someone who is not that user, or nobody, any more.
-- name: leave_person
-- locks: lock_routes_of_person
UPDATE routes SET session_id = NULL, updated_at = :now
WHERE key > :after::text AND key < :last AND sender = :sender AND user_id IS DISTINCT FROM :user;

-- A group's address is the beginning of all that is in it (pairings_blocked).
-- name: group_is_blocked
SELECT 1 FROM pairings
WHERE channel = :channel AND state = 'blocked'
  AND substr(sender, 1, length(:after::text)) = :after::text
  AND substr(:route || ':', 1, length(sender) + 1) = sender || ':'
LIMIT 1;
