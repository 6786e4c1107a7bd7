-- name: pending_segments
SELECT g.id, g.user_id, g.session_id, g.scope, g.tries, g.due_at, g.error, g.rests_since
FROM memory_segments g
WHERE g.session_id = :session AND g.user_id = :user AND g.state = 'pending'
ORDER BY g.created_at;

-- The first of each session and scope, once it is due: those behind it wait for it. One that rests is
-- not tried, and nothing waits for it.
-- name: due_segments
SELECT g.id, g.user_id, g.session_id, g.scope, g.tries, g.due_at, g.error, g.rests_since
FROM memory_segments g
WHERE g.state = 'pending' AND g.due_at <= :now AND g.rests_since IS NULL
  AND NOT EXISTS (SELECT 1 FROM memory_segments o
                  WHERE o.session_id = g.session_id AND o.scope = g.scope AND o.state = 'pending'
                    AND o.created_at < g.created_at AND o.rests_since IS NULL)
ORDER BY g.due_at, g.created_at LIMIT :limit;

-- name: pending_segment
SELECT g.id, g.user_id, g.session_id, g.scope, g.tries, g.due_at, g.error, g.rests_since
FROM memory_segments g WHERE g.id = :segment AND g.state = 'pending';

-- name: begin_segment
UPDATE memory_segments SET tries = tries + 1 WHERE id = :segment;

-- Turns that were taken back keep their mark: taken back again, they form another segment.
-- name: leave_segment
UPDATE turns SET segment_id = NULL WHERE segment_id = :segment AND undone IS NOT NULL;

-- name: segment_turns
SELECT id, start FROM turns WHERE segment_id = :segment ORDER BY start, id;

-- name: withdraw_segment
UPDATE memory_segments SET state = 'withdrawn' WHERE id = :segment;

-- name: commit_segment
UPDATE memory_segments SET state = 'committed', error = NULL, rests_since = NULL, committed_at = :now
WHERE id = :segment AND state = 'pending';

-- name: wake_segments
UPDATE memory_segments SET due_at = :now, failures = 0, no_use = 0, rests_since = NULL
WHERE state = 'pending' AND user_id = :user AND error IS NOT NULL
RETURNING id;

-- Done with, though its provider may have nothing of it. It may have something all the same: so it is to
-- be forgotten with its session, as one that was committed.
-- name: give_up_segments
UPDATE memory_segments SET state = 'committed', rests_since = NULL
WHERE state = 'pending' AND user_id = :user AND rests_since IS NOT NULL
RETURNING session_id, (SELECT count(*) FROM turns t WHERE t.segment_id = memory_segments.id);

-- name: session_owner
SELECT user_id FROM sessions WHERE id = :session AND deleted_at IS NULL;

-- What a provider may have of a session that was deleted, until it has forgotten it.
-- name: scopes_to_forget
SELECT g.session_id, g.scope FROM memory_segments g
WHERE g.state = 'withdrawn' AND g.tries > 0 AND g.due_at <= :now
GROUP BY g.session_id, g.scope ORDER BY min(g.due_at) LIMIT :limit;

-- What the agent noted by its tool in a session that is deleted, and no segment speaks for: as one that was
-- offered, so that it is forgotten with the others (facts_from).
-- name: withdraw_noted
INSERT INTO memory_segments (id, session_id, user_id, scope, state, tries, due_at, created_at)
SELECT DISTINCT 'seg_noted_' || f.session_id || '_' || f.scope, f.session_id, f.user_id, f.scope,
    'withdrawn', 1, :now, :now
FROM facts f
WHERE f.session_id = :session AND f.forgotten_at IS NULL
ON CONFLICT (id) DO NOTHING;

-- name: scopes_of_deleted
SELECT DISTINCT g.session_id, g.scope FROM memory_segments g
WHERE g.session_id = :session AND g.state = 'withdrawn' AND g.tries > 0;

-- name: segments_forgotten
UPDATE memory_segments SET tries = 0
WHERE session_id = :session AND scope = :scope AND state = 'withdrawn' AND tries > 0;

-- name: drop_forgotten
DELETE FROM memory_segments
WHERE session_id = :session AND scope = :scope AND state = 'withdrawn' AND tries = 0
  AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.segment_id = memory_segments.id);

-- name: put_off_forgetting
UPDATE memory_segments SET due_at = :now + :delay, error = :error
WHERE session_id = :session AND scope = :scope AND state = 'withdrawn' AND tries > 0;

-- name: count_segments
SELECT count(*) FILTER (WHERE g.rests_since IS NULL),
    count(*) FILTER (WHERE g.rests_since IS NULL AND g.error IS NOT NULL),
    count(*) FILTER (WHERE g.rests_since IS NOT NULL),
    min(g.due_at) FILTER (WHERE g.rests_since IS NULL)
FROM memory_segments g
WHERE g.state = 'pending' AND (:user IS NULL OR g.user_id = :user);

-- Deleted sessions that a provider could not forget yet (memory_segments_withdrawn).
-- name: count_unforgotten
SELECT count(DISTINCT g.session_id || g.scope), max(g.error)
FROM memory_segments g
WHERE g.state = 'withdrawn' AND g.tries > 0 AND g.error IS NOT NULL
  AND (:user IS NULL OR g.user_id = :user);

-- name: last_memory_error
SELECT g.error FROM memory_segments g
WHERE g.state = 'pending' AND g.error IS NOT NULL AND (:user IS NULL OR g.user_id = :user)
ORDER BY g.due_at DESC LIMIT 1;
