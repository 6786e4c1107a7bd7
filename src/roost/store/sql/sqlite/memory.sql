-- Completed turns that memory has not been offered yet (turns_unremembered), in order.
-- name: marked_turns
SELECT t.id, t.memory_scope
FROM turns t CROSS JOIN sessions s ON s.id = t.session_id
WHERE t.session_id = :session AND s.user_id = :user AND s.deleted_at IS NULL
  AND t.memory_scope IS NOT NULL AND t.segment_id IS NULL AND t.undone IS NULL
  AND t.state = 'completed' AND t.ephemeral = 0
ORDER BY t.start, t.id;

-- Its time is later than that of every other of the session: their order. One that was withdrawn before
-- any provider saw it may come back.
-- name: open_segment
INSERT INTO memory_segments (id, session_id, user_id, scope, state, due_at, created_at)
VALUES (:segment, :session, :user, :scope, 'pending', :now,
    max(:now, coalesce((SELECT max(created_at) + 1 FROM memory_segments
                        WHERE session_id = :session), 0)))
ON CONFLICT (id) DO UPDATE
SET state = 'pending', due_at = excluded.due_at, created_at = excluded.created_at
WHERE state = 'withdrawn' AND tries = 0;

-- name: take_into_segment
UPDATE turns SET segment_id = :segment WHERE id IN (SELECT value FROM json_each(:turns));

-- name: find_segment
SELECT state, tries FROM memory_segments WHERE id = :segment;

-- Live ones, and those that left with any epoch (messages_of serves both).
-- name: segment_messages
SELECT id, role, parts, turn_id, partial, position, born, gone, created_at, pinned
FROM message_rows
WHERE session_id = :session AND gone IS NULL AND position >= :first
  AND turn_id IN (SELECT value FROM json_each(:turns))
UNION ALL
SELECT m.id, m.role, m.parts, m.turn_id, m.partial, m.position, m.born, m.gone, m.created_at,
    m.pinned
FROM epochs e CROSS JOIN message_rows m ON m.session_id = e.session_id AND m.gone = e.epoch
WHERE e.session_id = :session AND m.position >= :first
  AND m.turn_id IN (SELECT value FROM json_each(:turns))
ORDER BY position;

-- A try fails once, however often that is said. What rests does so until it is woken.
-- name: fail_segment
UPDATE memory_segments
SET error = :error, due_at = :now + :delay,
    failures = min(failures + :failures, tries),
    no_use = min(no_use + :unusable, tries),
    rests_since = CASE
        WHEN rests_since IS NOT NULL
            OR (:failures > 0 AND min(failures + :failures, tries) >= :most)
            OR (:unusable > 0 AND min(no_use + :unusable, tries) >= :most)
        THEN coalesce(rests_since, :now) END
WHERE id = :segment AND state = 'pending'
RETURNING rests_since;

-- A segment that is not begun will lose the turns that were undone.
-- name: is_uncommitted
SELECT EXISTS (SELECT 1 FROM turns t
               WHERE t.session_id = :session AND t.memory_scope IS NOT NULL
                 AND t.segment_id IS NULL AND t.undone IS NULL)
    OR EXISTS (SELECT 1 FROM memory_segments g
               WHERE g.session_id = :session AND g.state = 'pending'
                 AND (g.tries > 0 OR EXISTS (SELECT 1 FROM turns t
                                             WHERE t.segment_id = g.id AND t.undone IS NULL)));

-- Sessions with marks and without a segment for them, that had no turn for a while. A parked turn can
-- wait for days: it holds nothing back.
-- name: idle_marks
SELECT s.user_id, t.session_id
FROM turns t CROSS JOIN sessions s ON s.id = t.session_id
WHERE t.memory_scope IS NOT NULL AND t.segment_id IS NULL AND t.undone IS NULL
  AND s.deleted_at IS NULL AND s.active_at <= :now - :idle
  AND NOT EXISTS (SELECT 1 FROM turns o
                  WHERE o.session_id = t.session_id AND o.state IN ('running', 'waiting')
                    AND o.state = 'running')
GROUP BY t.session_id HAVING max(t.ended_at) <= :now - :idle
ORDER BY max(t.ended_at);

-- name: all_uncommitted
SELECT s.user_id, t.session_id
FROM turns t CROSS JOIN sessions s ON s.id = t.session_id
WHERE t.memory_scope IS NOT NULL AND t.segment_id IS NULL AND t.undone IS NULL
  AND s.deleted_at IS NULL
UNION
SELECT g.user_id, g.session_id FROM memory_segments g
WHERE g.state = 'pending' AND g.rests_since IS NULL
ORDER BY 2;

-- name: count_marks
SELECT count(*)
FROM turns t CROSS JOIN sessions s ON s.id = t.session_id
WHERE t.memory_scope IS NOT NULL AND t.segment_id IS NULL AND t.undone IS NULL
  AND s.deleted_at IS NULL AND (:user IS NULL OR s.user_id = :user);
