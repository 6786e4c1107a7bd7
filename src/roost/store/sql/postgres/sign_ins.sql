-- A link is used by `seen_at`, once. A browser's sign-in is found by the hash of its cookie.
-- name: insert_link
INSERT INTO sign_ins (id, user_id, kind, hash, created_at, expires_at)
SELECT :id, u.id, 'link', :hash, :now, :now + :ttl
FROM users u WHERE u.id = :user AND u.disabled_at IS NULL FOR SHARE OF u
ON CONFLICT (id) DO NOTHING;

-- Whoever signs in by a password shows the hash that it was checked against: one that was changed
-- meanwhile opens nothing.
-- name: insert_sign_in
INSERT INTO sign_ins (id, user_id, kind, hash, agent, created_at, seen_at, expires_at)
SELECT :id, u.id, 'browser', :hash, :agent, :now, :now, :now + :ttl
FROM users u
WHERE u.id = :user AND u.disabled_at IS NULL AND (:checked IS NULL OR u.password = :checked)
FOR SHARE OF u
ON CONFLICT (id) DO NOTHING;

-- Of more than so many at once, those go that were not seen for the longest time.
-- name: crowd_out_sign_ins
UPDATE sign_ins SET revoked_at = :now
WHERE id IN (
    SELECT id FROM sign_ins
    WHERE user_id = :user AND kind = 'browser' AND revoked_at IS NULL AND expires_at > :now
    ORDER BY seen_at DESC, id DESC OFFSET :most)
RETURNING id;

-- name: sign_in_by_hash
SELECT u.id, u.name, u.role, u.time_zone, u.locale, u.created_at, u.disabled_at,
    u.password IS NOT NULL, b.id, b.seen_at, b.expires_at
FROM sign_ins b JOIN users u ON u.id = b.user_id
WHERE b.hash = :hash AND b.kind = 'browser' AND b.revoked_at IS NULL AND b.expires_at > :now
  AND u.disabled_at IS NULL;

-- name: touch_sign_ins
UPDATE sign_ins SET seen_at = :now, expires_at = :now + :ttl
WHERE id IN (SELECT json_array_elements_text(:ids))
  AND kind = 'browser' AND revoked_at IS NULL AND expires_at > :now;

-- Links that were not used yet are among them.
-- name: revoke_sign_ins
UPDATE sign_ins SET revoked_at = :now
WHERE user_id = :user AND revoked_at IS NULL AND id IS DISTINCT FROM :keep::text
RETURNING id;
