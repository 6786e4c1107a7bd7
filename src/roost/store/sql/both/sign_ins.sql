-- name: void_links
UPDATE sign_ins SET revoked_at = :now
WHERE user_id = :user AND kind = 'link' AND id <> :id AND seen_at IS NULL AND revoked_at IS NULL;

-- name: use_link
UPDATE sign_ins SET seen_at = :now
WHERE hash = :hash AND kind = 'link' AND seen_at IS NULL AND revoked_at IS NULL
  AND expires_at > :now
  AND EXISTS (SELECT 1 FROM users u WHERE u.id = sign_ins.user_id AND u.disabled_at IS NULL)
RETURNING user_id;

-- name: list_sign_ins
SELECT id, user_id, agent, created_at, seen_at, expires_at
FROM sign_ins
WHERE user_id = :user AND kind = 'browser' AND revoked_at IS NULL AND expires_at > :now
ORDER BY seen_at DESC, id DESC;

-- name: revoke_sign_in
UPDATE sign_ins SET revoked_at = coalesce(revoked_at, :now)
WHERE id = :id AND user_id = :user AND kind = 'browser'
RETURNING id;

-- What ended long ago. Of browsers the last of each user stays: that they ever signed in is known
-- by it.
-- name: expire_sign_ins
DELETE FROM sign_ins
WHERE id IN (
    SELECT b.id FROM sign_ins b
    WHERE coalesce(b.revoked_at, b.expires_at) < :now - :keep
      AND (b.kind = 'link'
           OR EXISTS (SELECT 1 FROM sign_ins newer
                      WHERE newer.user_id = b.user_id AND newer.kind = 'browser' AND newer.id > b.id))
    LIMIT 1000)
RETURNING 1;
