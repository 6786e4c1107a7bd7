-- name: insert_token
INSERT INTO api_tokens (id, user_id, name, hash, scopes, created_at, expires_at)
SELECT :id, u.id, :name, :hash, :scopes, :now, :expires_at
FROM users u WHERE u.id = :user AND u.disabled_at IS NULL
ON CONFLICT (id) DO NOTHING;

-- name: token_by_hash
SELECT u.id, u.name, u.role, u.time_zone, u.locale, u.created_at, u.disabled_at,
    u.password IS NOT NULL, k.id, k.scopes, k.used_at, k.expires_at
FROM api_tokens k CROSS JOIN users u ON u.id = k.user_id
WHERE k.hash = :hash AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > :now)
  AND u.disabled_at IS NULL;

-- name: touch_tokens
UPDATE api_tokens SET used_at = :now WHERE id IN (SELECT value FROM json_each(:ids));
