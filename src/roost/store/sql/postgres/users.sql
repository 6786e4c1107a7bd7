-- Names are compared in Python, and the last admin has to stay one: users are changed by one at a time.
-- name: lock_users
SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('users', 0));

-- name: lock_user
SELECT 1 FROM users WHERE id = :user FOR NO KEY UPDATE;

-- The hash that was checked has to be the one that is there, or the change came too late.
-- name: replace_password
UPDATE users SET password = :password
WHERE id = :user AND password IS NOT DISTINCT FROM :checked AND disabled_at IS NULL
RETURNING id;
