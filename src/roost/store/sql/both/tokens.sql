-- name: count_tokens
-- locks: lock_user
SELECT count(*) FROM api_tokens
WHERE user_id = :user AND id <> :id AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > :now);

-- name: list_tokens
SELECT id, user_id, name, scopes, created_at, used_at, expires_at
FROM api_tokens
WHERE user_id = :user AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
ORDER BY created_at, id;

-- name: user_token
SELECT id, user_id, name, scopes, created_at, used_at, expires_at
FROM api_tokens WHERE id = :id AND user_id = :user;

-- name: revoke_token
UPDATE api_tokens SET revoked_at = coalesce(revoked_at, :now)
WHERE id = :id AND user_id = :user
RETURNING id;

-- name: revoke_tokens
UPDATE api_tokens SET revoked_at = :now WHERE user_id = :user AND revoked_at IS NULL;

-- name: owner_of_token
SELECT user_id FROM api_tokens WHERE id = :id;

-- name: expire_tokens
DELETE FROM api_tokens
WHERE id IN (
    SELECT k.id FROM api_tokens k
    WHERE coalesce(k.revoked_at, k.expires_at) < :now - :keep LIMIT 1000)
RETURNING 1;
