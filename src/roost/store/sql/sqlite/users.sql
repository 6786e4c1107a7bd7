-- The hash that was checked has to be the one that is there, or the change came too late.
-- name: replace_password
UPDATE users SET password = :password
WHERE id = :user AND password IS :checked AND disabled_at IS NULL
RETURNING id;
