-- name: insert_user
INSERT INTO users (id, name, role, time_zone, locale, created_at)
VALUES (:user, :name, :role, :time_zone, :locale, :now)
ON CONFLICT (id) DO NOTHING;

-- name: user_by_id
SELECT id, name, role, time_zone, locale, created_at, disabled_at FROM users WHERE id = :user;

-- name: user_by_name
SELECT id, name, role, time_zone, locale, created_at, disabled_at FROM users WHERE name = :name;

-- name: list_users
SELECT id, name, role, time_zone, locale, created_at, disabled_at FROM users ORDER BY created_at, id;

-- name: put_setting
INSERT INTO settings (user_id, key, value, updated_at) VALUES (:user, :key, :value, :now)
ON CONFLICT (user_id, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;

-- name: get_setting
SELECT value FROM settings WHERE user_id = :user AND key = :key;

-- name: put_secret
INSERT INTO secrets (user_id, name, sealed, updated_at) VALUES (:user, :name, :sealed, :now)
ON CONFLICT (user_id, name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at;

-- name: get_secret
SELECT sealed FROM secrets WHERE user_id = :user AND name = :name;

-- name: secret_names
SELECT name FROM secrets WHERE user_id = :user ORDER BY name;

-- name: remove_secret
DELETE FROM secrets WHERE user_id = :user AND name = :name;
