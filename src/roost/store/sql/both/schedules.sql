-- name: insert_schedule
INSERT INTO schedules (id, user_id, name, kind, spec, time_zone, input, config, session_id, route,
    missed, due_at, created_at)
VALUES (:id, :user, :name, :kind, :spec, :time_zone, :input, :config, :session, :route, :missed,
    :due, :now)
ON CONFLICT (id) DO NOTHING
RETURNING 1;

-- A session that was deleted is none, here and below.
-- name: get_schedule
-- locks: lock_schedule
SELECT s.id, s.user_id, s.name, s.kind, s.spec, s.time_zone, s.input, s.config,
    (SELECT x.id FROM sessions x WHERE x.id = s.session_id AND x.deleted_at IS NULL),
    s.route, s.missed, s.paused, s.due_at, s.created_at, :now
FROM schedules s WHERE s.id = :id AND s.user_id = :user;

-- Those that run next first, then what is over (schedules_by_user).
-- name: list_schedules
SELECT s.id, s.user_id, s.name, s.kind, s.spec, s.time_zone, s.input, s.config,
    (SELECT x.id FROM sessions x WHERE x.id = s.session_id AND x.deleted_at IS NULL),
    s.route, s.missed, s.paused, s.due_at, s.created_at, :now
FROM schedules s WHERE s.user_id = :user
ORDER BY s.due_at IS NULL, s.paused, s.due_at, s.created_at DESC, s.id;

-- name: count_schedules
-- locks: lock_user
SELECT count(*) FROM schedules WHERE user_id = :user AND due_at IS NOT NULL;

-- name: update_schedule
UPDATE schedules
SET name = :name, kind = :kind, spec = :spec, time_zone = :time_zone, input = :input,
    config = :config, session_id = :session, route = :route, missed = :missed, paused = :paused,
    due_at = :due
WHERE id = :id;

-- name: delete_schedule_runs
DELETE FROM schedule_runs WHERE schedule_id = :id;

-- name: delete_schedule
DELETE FROM schedules WHERE id = :id;

-- name: store_clock
SELECT :now;

-- name: is_enabled
SELECT 1 FROM users WHERE id = :user AND disabled_at IS NULL;

-- name: advance_schedule
UPDATE schedules SET due_at = :due WHERE id = :id;

-- name: insert_run
INSERT INTO schedule_runs (schedule_id, tick, turn_id, created_at)
VALUES (:id, :tick, :turn, :now)
ON CONFLICT (schedule_id, tick) DO NOTHING
RETURNING 1;

-- name: trim_runs
DELETE FROM schedule_runs
WHERE schedule_id = :id AND tick < (
    SELECT tick FROM schedule_runs WHERE schedule_id = :id ORDER BY tick DESC LIMIT 1 OFFSET :keep);

-- A turn is gone with its session.
-- name: list_runs
SELECT r.tick, r.turn_id, x.id, CASE WHEN x.id IS NOT NULL THEN t.state END, r.created_at
FROM schedule_runs r
    LEFT JOIN turns t ON t.id = r.turn_id
    LEFT JOIN sessions x ON x.id = t.session_id AND x.deleted_at IS NULL
WHERE r.schedule_id = :id AND r.tick < :before
ORDER BY r.tick DESC LIMIT :limit;

-- name: find_run
SELECT r.tick, r.turn_id, x.id, CASE WHEN x.id IS NOT NULL THEN t.state END, r.created_at
FROM schedule_runs r
    LEFT JOIN turns t ON t.id = r.turn_id
    LEFT JOIN sessions x ON x.id = t.session_id AND x.deleted_at IS NULL
WHERE r.schedule_id = :id AND (r.tick = :tick OR r.turn_id = :turn)
ORDER BY r.tick DESC LIMIT 1;
