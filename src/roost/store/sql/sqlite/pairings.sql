-- Whose it is already stays whose it is.
-- name: claim_pairing
INSERT INTO pairings (channel, sender, user_id, state, name, created_at, decided_at, decided_by)
VALUES (:channel, :sender, :user, 'approved', :name, :now, :now, :user)
ON CONFLICT (channel, sender) DO NOTHING;

-- name: person_on_route
UPDATE routes SET sender = :sender
WHERE user_id = :user AND key = :route AND sender IS NOT :sender;

-- Private routes of someone who is not that user, or nobody, any more.
-- name: leave_person
UPDATE routes SET session_id = NULL, updated_at = :now
WHERE key > :after AND key < :last AND sender = :sender AND user_id IS NOT :user;

-- A group's address is the beginning of all that is in it (pairings_blocked).
-- name: group_is_blocked
SELECT 1 FROM pairings
WHERE channel = :channel AND state = 'blocked' AND substr(sender, 1, length(:after)) = :after
  AND substr(:route || ':', 1, length(sender) + 1) = sender || ':'
LIMIT 1;
