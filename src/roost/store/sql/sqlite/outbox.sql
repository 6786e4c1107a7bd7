-- The routes of a channel on which something waits, and how long the first of it is not due yet
-- (outbox_waiting): what comes after that waits for it. `last` is the channel's prefix with its colon made a semicolon, which sorts next.
-- name: waiting_outbox
WITH RECURSIVE heads (route) AS (
    SELECT min(route) FROM outbox
    WHERE state = 'pending' AND route > :after AND route < :last
    UNION ALL
    SELECT (SELECT min(o.route) FROM outbox o
            WHERE o.state = 'pending' AND o.route > heads.route AND o.route < :last)
    FROM heads WHERE heads.route IS NOT NULL
    LIMIT :limit
)
SELECT o.route, max(0, o.due_at - :now)
FROM heads CROSS JOIN outbox o ON o.route = heads.route AND o.state = 'pending'
WHERE o.ordinal = (SELECT min(p.ordinal) FROM outbox p
                   WHERE p.route = heads.route AND p.state = 'pending');

-- name: next_outbox
SELECT id, user_id, route, session_id, turn_id, body, state, tries, max(0, due_at - :now), error,
    created_at, :now - created_at
FROM outbox WHERE route = :route AND state = 'pending' ORDER BY ordinal LIMIT 1;

-- name: outbox_entry
SELECT id, user_id, route, session_id, turn_id, body, state, tries, max(0, due_at - :now), error,
    created_at, :now - created_at
FROM outbox WHERE id = :id;

-- name: count_outbox
SELECT count(*) FROM outbox WHERE state = 'pending' AND route > :after AND route < :last;

-- Everybody's that failed (outbox_failed) are few: the pluses keep the planner from walking all that was
-- sent on the channel.
-- name: count_undelivered
SELECT count(*) FROM outbox WHERE state = 'failed' AND +route > :after AND +route < :last;

-- What a message of ours says (outbox_pieces_sent), for replies to it.
-- name: piece_by_external
SELECT p.body FROM outbox_pieces p CROSS JOIN outbox o ON o.id = p.outbox_id
WHERE p.external_id = :external AND o.route = :route
ORDER BY o.ordinal DESC LIMIT 1;

-- name: expire_outbox
DELETE FROM outbox WHERE id IN (
    SELECT id FROM outbox WHERE state = 'sent' AND sent_at < :now - :keep LIMIT 1000)
RETURNING 1;

-- Turns from channels that stopped short and that nothing was said of since (turns_interrupted). One
-- that was handed over goes on within seconds, or not at all.
-- name: unreported_turns
SELECT s.user_id, t.session_id, t.id, t.route, t.reason, t.attempt
FROM turns t CROSS JOIN sessions s ON s.id = t.session_id
WHERE t.state = 'interrupted' AND t.ended_at > :now - :window AND t.route LIKE '%:%'
  AND t.undone IS NULL
  AND (t.ended_at <= :now - 10000 OR coalesce(t.reason, '') NOT LIKE 'moved:%')
  AND s.deleted_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.turn_id = t.id
                  AND o.id = 'out_' || t.id || '_' || t.attempt);
