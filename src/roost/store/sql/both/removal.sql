-- A user who was removed is disabled, nameless and marked by a setting of the server's until their last
-- row is gone: sessions and attachments go in slices, as they do when they are deleted one by one.

-- name: depart
-- locks: lock_users
UPDATE users
SET name = ' ' || id, role = 'member', password = NULL, disabled_at = coalesce(disabled_at, :now)
WHERE id = :user
  AND (role <> 'admin' OR disabled_at IS NOT NULL
       OR EXISTS (SELECT 1 FROM users other
                  WHERE other.id <> :user AND other.role = 'admin' AND other.disabled_at IS NULL))
RETURNING id;

-- name: removed_users
SELECT substr(key, 9) FROM settings WHERE user_id = '' AND key >= 'removed/' AND key < 'removed0';

-- name: facts_to_purge
SELECT seq FROM facts WHERE user_id = :user LIMIT 200;

-- Those that return rows are to be repeated until they return none: of each there may be very many.
-- name: drop_entity_names
DELETE FROM entity_names
WHERE (user_id, scope, folded) IN (
    SELECT user_id, scope, folded FROM entity_names WHERE user_id = :user LIMIT 1000)
RETURNING 1;

-- name: drop_entities
DELETE FROM entities WHERE id IN (SELECT id FROM entities WHERE user_id = :user LIMIT 1000)
RETURNING 1;

-- name: drop_applied
DELETE FROM facts_applied
WHERE (user_id, scope, key) IN (
    SELECT user_id, scope, key FROM facts_applied WHERE user_id = :user LIMIT 1000)
RETURNING 1;

-- name: drop_schedule_runs
DELETE FROM schedule_runs
WHERE (schedule_id, tick) IN (
    SELECT r.schedule_id, r.tick FROM schedules s JOIN schedule_runs r ON r.schedule_id = s.id
    WHERE s.user_id = :user LIMIT 1000)
RETURNING 1;

-- Once for each day (usage_by).
-- name: drop_usage
DELETE FROM usage
WHERE (source, provider, model, at) IN (
    SELECT source, provider, model, at FROM usage WHERE user_id = :user LIMIT 1000)
RETURNING 1;

-- name: drop_rules
DELETE FROM approval_rules WHERE user_id = :user;

-- name: drop_routes
DELETE FROM routes WHERE user_id = :user;

-- name: drop_pairings
DELETE FROM pairings WHERE user_id = :user;

-- name: drop_schedules
DELETE FROM schedules WHERE user_id = :user;

-- name: drop_secrets
DELETE FROM secrets WHERE user_id = :user;

-- name: drop_sign_ins
DELETE FROM sign_ins WHERE user_id = :user;

-- name: drop_tokens
DELETE FROM api_tokens WHERE user_id = :user;

-- name: drop_settings
DELETE FROM settings WHERE user_id = :user OR (user_id = '' AND key = 'caps/' || :user);

-- name: drop_user
DELETE FROM users WHERE id = :user;

-- name: drop_mark
DELETE FROM settings WHERE user_id = '' AND key = 'removed/' || :user;
