-- name: insert_token
INSERT INTO api_tokens (id, user_id, name, hash, scopes, created_at, expires_at)
SELECT :id, u.id, :name, :hash, :scopes, :now, :expires_at
FROM users u WHERE u.id = :user AND u.disabled_at IS NULL
ON CONFLICT (id) DO NOTHING;

-- name: count_tokens
SELECT count(*) FROM api_tokens
WHERE user_id = :user AND id <> :id AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > :now);

-- name: token_by_hash
SELECT u.id, u.name, u.role, u.time_zone, u.locale, u.created_at, u.disabled_at,
    u.password IS NOT NULL, k.id, k.scopes, k.used_at, k.expires_at
FROM api_tokens k CROSS JOIN users u ON u.id = k.user_id
WHERE k.hash = :hash AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > :now)
  AND u.disabled_at IS NULL;

-- name: touch_tokens
UPDATE api_tokens SET used_at = :now WHERE id IN (SELECT value FROM json_each(:ids));

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
