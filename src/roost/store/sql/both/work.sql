-- name: last_delta
SELECT coalesce(max(id), 0) FROM deltas;

-- All users' (turns_arrival, turns_parked, approvals_due).
-- name: count_work
SELECT (SELECT count(*) FROM turns WHERE state = 'queued'),
    (SELECT count(*) FROM turns WHERE state = 'waiting'),
    (SELECT count(*) FROM approvals WHERE state = 'pending');
