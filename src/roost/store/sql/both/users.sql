-- name: insert_user
INSERT INTO users (id, name, role, time_zone, locale, created_at)
VALUES (:user, :name, :role, :time_zone, :locale, :now)
ON CONFLICT (id) DO NOTHING;

-- Here and below, those who were removed are nobody any more.
-- name: user_by_id
-- locks: lock_users
SELECT id, name, role, time_zone, locale, created_at, disabled_at, password IS NOT NULL
FROM users
WHERE id = :user
  AND NOT EXISTS (SELECT 1 FROM settings g WHERE g.user_id = '' AND g.key = 'removed/' || users.id);

-- name: list_users
SELECT id, name, role, time_zone, locale, created_at, disabled_at, password IS NOT NULL
FROM users
WHERE NOT EXISTS (SELECT 1 FROM settings g WHERE g.user_id = '' AND g.key = 'removed/' || users.id)
ORDER BY created_at, id;

-- name: user_names
-- locks: lock_users
SELECT id, name FROM users
WHERE NOT EXISTS (SELECT 1 FROM settings g WHERE g.user_id = '' AND g.key = 'removed/' || users.id);

-- name: update_user
UPDATE users
SET name = coalesce(:name, name), time_zone = coalesce(:time_zone, time_zone),
    locale = coalesce(:locale, locale)
WHERE id = :user;

-- What would leave this Roost without an admin who can sign in changes nothing: here and below, the
-- statement that looks is the one that acts.
-- name: set_role
-- locks: lock_users
UPDATE users SET role = :role
WHERE id = :user
  AND (:role = 'admin' OR role <> 'admin' OR disabled_at IS NOT NULL
       OR EXISTS (SELECT 1 FROM users other
                  WHERE other.id <> :user AND other.role = 'admin' AND other.disabled_at IS NULL))
RETURNING id;

-- name: disable_user
-- locks: lock_users
UPDATE users SET disabled_at = coalesce(disabled_at, :now)
WHERE id = :user
  AND (role <> 'admin' OR disabled_at IS NOT NULL
       OR EXISTS (SELECT 1 FROM users other
                  WHERE other.id <> :user AND other.role = 'admin' AND other.disabled_at IS NULL))
RETURNING id;

-- name: enable_user
UPDATE users SET disabled_at = NULL WHERE id = :user;

-- name: password_of
SELECT password FROM users WHERE id = :user AND disabled_at IS NULL;

-- name: set_password
UPDATE users SET password = :password WHERE id = :user;

-- Only while nobody has a password and no browser was ever signed in.
-- name: is_untouched
SELECT NOT EXISTS (SELECT 1 FROM users WHERE password IS NOT NULL)
   AND NOT EXISTS (SELECT 1 FROM sign_ins WHERE kind = 'browser');

-- name: put_setting
INSERT INTO settings (user_id, key, value, updated_at) VALUES (:user, :key, :value, :now)
ON CONFLICT (user_id, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;

-- name: replace_setting
INSERT INTO settings (user_id, key, value, updated_at) VALUES (:user, :key, :value, :now)
ON CONFLICT (user_id, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
WHERE settings.value = :expected
RETURNING key;

-- name: get_setting
SELECT value FROM settings WHERE user_id = :user AND key = :key;

-- name: put_secret
INSERT INTO secrets (user_id, name, sealed, updated_at) VALUES (:user, :name, :sealed, :now)
ON CONFLICT (user_id, name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at;

-- name: get_secret
SELECT sealed FROM secrets WHERE user_id = :user AND name = :name;

-- name: sealed_secrets
SELECT name, sealed FROM secrets WHERE user_id = :user ORDER BY name;

-- name: secret_names
SELECT name FROM secrets WHERE user_id = :user ORDER BY name;

-- name: remove_secret
DELETE FROM secrets WHERE user_id = :user AND name = :name;
