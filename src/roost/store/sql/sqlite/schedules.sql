-- Those that have run for the last time, but for the newest.
-- name: old_schedules
SELECT id FROM schedules WHERE user_id = :user AND due_at IS NULL
ORDER BY created_at DESC, id DESC LIMIT -1 OFFSET :keep;

-- Walks schedules_due.
-- name: due_schedules
SELECT s.id, s.user_id, s.name, s.kind, s.spec, s.time_zone, s.input, s.config,
    (SELECT x.id FROM sessions x WHERE x.id = s.session_id AND x.deleted_at IS NULL),
    s.route, s.missed, s.paused, s.due_at, s.created_at, :now
FROM schedules s CROSS JOIN users u ON u.id = s.user_id
WHERE s.paused = 0 AND s.due_at IS NOT NULL AND s.due_at <= :now AND u.disabled_at IS NULL
ORDER BY s.due_at LIMIT :limit;

-- How long nothing is due. Walks schedules_due.
-- name: next_due
SELECT max(0, s.due_at - :now)
FROM schedules s CROSS JOIN users u ON u.id = s.user_id
WHERE s.paused = 0 AND s.due_at IS NOT NULL AND u.disabled_at IS NULL
ORDER BY s.due_at LIMIT 1;

-- name: run_under_way
SELECT 1
FROM schedule_runs r
    CROSS JOIN turns t ON t.id = r.turn_id
    CROSS JOIN sessions x ON x.id = t.session_id
WHERE r.schedule_id = :id AND t.state IN ('queued', 'running', 'waiting') AND x.deleted_at IS NULL
LIMIT 1;
