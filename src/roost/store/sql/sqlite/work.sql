-- Sessions that can be worked on have no live lease, and a user who is not disabled. First those whose
-- parked turn has its answers (turns_parked, approvals_of_turn).
-- name: answered_sessions
SELECT t.session_id
FROM turns t
    CROSS JOIN sessions s ON s.id = t.session_id
    LEFT JOIN leases l ON l.name = 'session:' || t.session_id
WHERE t.state = 'waiting' AND s.deleted_at IS NULL
  AND (l.holder IS NULL OR l.until <= :now)
  AND NOT EXISTS (SELECT 1 FROM approvals a
                  WHERE a.session_id = t.session_id AND a.turn_id = t.id AND a.state = 'pending')
  AND (SELECT u.disabled_at FROM users u WHERE u.id = s.user_id) IS NULL
LIMIT :limit;

-- Then those with a message in the queue and no live turn, by the arrival (turns_arrival) of the one
-- that runs first.
-- name: queued_sessions
SELECT t.session_id
FROM turns t
    CROSS JOIN sessions s ON s.id = t.session_id
    LEFT JOIN leases l ON l.name = 'session:' || t.session_id
WHERE t.state = 'queued' AND s.deleted_at IS NULL AND s.ended_at IS NULL
  AND (l.holder IS NULL OR l.until <= :now)
  AND NOT EXISTS (SELECT 1 FROM turns o
                  WHERE o.session_id = t.session_id AND o.state IN ('running', 'waiting'))
  AND t.id = (SELECT f.id FROM turns f WHERE f.session_id = t.session_id AND f.state = 'queued'
              ORDER BY f.place, f.id LIMIT 1)
  AND (SELECT u.disabled_at FROM users u WHERE u.id = s.user_id) IS NULL
ORDER BY t.created_at, t.id LIMIT :limit;

-- The one that runs first in a session.
-- name: next_turn_here
SELECT id FROM turns WHERE session_id = :session AND state = 'queued' ORDER BY place, id LIMIT 1;

-- `sessions` is a JSON list.
-- name: claim_sessions
INSERT INTO leases (name, token, holder, since, until)
SELECT 'session:' || s.id, s.token + 1, :holder, :now, :now + :ttl
FROM json_each(:sessions) j CROSS JOIN sessions s ON s.id = j.value
WHERE true
ON CONFLICT (name) DO UPDATE
SET token = max(leases.token + 1, excluded.token), holder = excluded.holder,
    since = excluded.since, until = excluded.until
WHERE leases.holder IS NULL OR leases.until <= :now;

-- name: fence_sessions
UPDATE sessions SET token = l.token
FROM json_each(:sessions) j CROSS JOIN leases l ON l.name = 'session:' || j.value
WHERE sessions.id = j.value AND l.holder = :holder;

-- All that a claim holds (leases_held), with the turn to work on: the one that waits, or else, if
-- none is live, the first of the queue.
-- name: claimed_sessions
SELECT l.name, l.holder, l.token, l.since, l.until, substr(l.name, 9),
    coalesce(
        (SELECT o.id FROM turns o
         WHERE o.session_id = substr(l.name, 9) AND o.state IN ('running', 'waiting')),
        (SELECT f.id FROM turns f WHERE f.session_id = substr(l.name, 9) AND f.state = 'queued'
         ORDER BY f.place, f.id LIMIT 1))
FROM leases l
WHERE l.holder = :holder AND l.until > :now AND l.name GLOB 'session:*';

-- name: claimed_turns
SELECT * FROM turn_rows WHERE id IN (SELECT value FROM json_each(:ids));

-- name: sessions_by_id
SELECT *, :now FROM session_details WHERE id IN (SELECT value FROM json_each(:ids));

-- Turns that say "running" while nobody holds their session: left behind by a crash.
-- name: orphaned_turns
SELECT s.user_id, t.session_id, t.id, s.active_at
FROM turns t
    CROSS JOIN sessions s ON s.id = t.session_id
    LEFT JOIN leases l ON l.name = 'session:' || t.session_id
WHERE t.state IN ('running', 'waiting') AND t.state = 'running' AND s.deleted_at IS NULL AND (l.holder IS NULL OR l.until <= :now)
ORDER BY t.session_id;

-- The tick. All turns in one statement: `batch` is a JSON list of [turn, attempt, token, first_seq,
-- last_seq, body]. A turn that has ended, moved to another attempt or lost its session is left out,
-- and so is a run that does not join on to what is stored.
-- name: append_deltas
INSERT INTO deltas (turn_id, first_seq, last_seq, previous, body)
SELECT t.turn_id, j.value ->> 3, j.value ->> 4, iif(t.attempt = s.attempt, t.last_delta, NULL),
    j.value ->> 5
FROM json_each(:batch) j
    CROSS JOIN streams t ON t.turn_id = j.value ->> 0
    CROSS JOIN sessions s ON s.id = t.session_id
WHERE s.attempt = j.value ->> 1 AND s.token = j.value ->> 2
  AND iif(t.attempt = s.attempt, t.last_seq, 0) + 1 = j.value ->> 3
  AND s.deleted_at IS NULL;

-- name: count_new_deltas
SELECT count(*) FROM deltas WHERE id > :after;

-- name: advance_streams
UPDATE streams
SET last_seq = d.last_seq, last_delta = d.id,
    first_delta = iif(d.previous IS NULL, d.id, first_delta),
    attempt = iif(d.previous IS NULL,
        (SELECT s.attempt FROM sessions s WHERE s.id = streams.session_id), attempt)
FROM deltas d
WHERE d.id > :after AND d.turn_id = streams.turn_id;

-- Which turns of the batch still stream under the token they came with, and how far they are stored.
-- name: streaming_turns
SELECT t.turn_id, iif(t.attempt = s.attempt, t.last_seq, 0)
FROM json_each(:batch) j
    CROSS JOIN streams t ON t.turn_id = j.value ->> 0
    CROSS JOIN sessions s ON s.id = t.session_id
WHERE s.attempt = j.value ->> 1 AND s.token = j.value ->> 2 AND s.deleted_at IS NULL;

-- `held` is a JSON list of [name, token]. Rewritten only when a third of the time is gone, so that a
-- tick writes few of them.
-- name: renew_leases
UPDATE leases SET until = :now + :ttl
FROM json_each(:held) j
WHERE leases.name = j.value ->> 0 AND leases.token = j.value ->> 1 AND leases.holder IS NOT NULL
  AND leases.until < :now + :ttl * 2 / 3;

-- name: lost_leases
SELECT j.value ->> 0
FROM json_each(:held) j
    LEFT JOIN leases l ON l.name = j.value ->> 0
WHERE l.token IS NOT j.value ->> 1 OR l.holder IS NULL;

-- A long stream shows in the list of sessions, at a coarse grain.
-- name: stir_sessions
UPDATE sessions SET active_at = :now
WHERE id IN (
    SELECT t.session_id
    FROM json_each(:held) j
        CROSS JOIN sessions o ON o.id = substr(j.value ->> 0, 9) AND o.token = j.value ->> 1
        CROSS JOIN turns t ON t.session_id = o.id
            AND t.state IN ('running', 'waiting') AND t.state = 'running')
  AND active_at < :now - 30000 AND deleted_at IS NULL;

-- Turns that may go on by themselves after a crash (turns_interrupted): they stopped short lately, have
-- not gone on so far, are still the end of the live history, and nothing they did is in doubt.
-- name: continuable_turns
SELECT s.user_id, t.session_id, t.id, s.active_at, 1
FROM turns t CROSS JOIN sessions s ON s.id = t.session_id
WHERE t.state = 'interrupted' AND t.ended_at > :now - :window
  AND t.continued = 0 AND t.cancel_at IS NULL AND t.undone IS NULL AND t.start IS NOT NULL
  AND t.route IS NOT 'subagent'
  AND s.deleted_at IS NULL AND s.ended_at IS NULL
  AND coalesce((SELECT e.kind FROM messages m
                    CROSS JOIN epochs e ON e.session_id = t.session_id AND e.epoch = m.gone
                WHERE m.id = t.message_id), 'compaction') = 'compaction'
  AND NOT EXISTS (
      SELECT 1 FROM epochs e
      WHERE e.session_id = t.session_id AND e.kind = 'clear'
        AND e.epoch > coalesce((SELECT b.born FROM messages b WHERE b.id = t.message_id), 0)
        AND NOT EXISTS (SELECT 1 FROM epochs r
                        WHERE r.session_id = e.session_id AND r.epoch = e.epoch + 1 AND r.kind = 'restore'))
  AND NOT EXISTS (SELECT 1 FROM turns o
                  WHERE o.session_id = t.session_id AND o.start > t.start AND o.undone IS NULL)
  AND NOT EXISTS (SELECT 1 FROM tool_calls c WHERE c.turn_id = t.id AND c.state = 'unknown')
  AND (SELECT u.disabled_at FROM users u WHERE u.id = s.user_id) IS NULL
ORDER BY t.ended_at, t.id;

-- Subagents' turns that nobody waits for any more: no turn of their caller runs (turns_parked,
-- turns_arrival, turns_live).
-- name: forsaken_turns
SELECT s.user_id, t.session_id, t.id, s.active_at
FROM turns t CROSS JOIN sessions s ON s.id = t.session_id
WHERE t.state = 'waiting' AND t.route = 'subagent' AND s.deleted_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM turns o WHERE o.session_id = s.parent_id
                  AND o.state IN ('running', 'waiting') AND o.state = 'running')
UNION ALL
SELECT s.user_id, t.session_id, t.id, s.active_at
FROM turns t CROSS JOIN sessions s ON s.id = t.session_id
WHERE t.state = 'queued' AND t.route = 'subagent' AND s.deleted_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM turns o WHERE o.session_id = s.parent_id
                  AND o.state IN ('running', 'waiting') AND o.state = 'running');

-- Where the users of claimed sessions are: their messages say what time it is there. Those who are
-- disabled are not worked for.
-- name: time_zones
SELECT u.id, u.time_zone, u.disabled_at IS NOT NULL FROM json_each(:users) j CROSS JOIN users u ON u.id = j.value;

-- name: sessions_among
SELECT id FROM sessions
WHERE id IN (SELECT value FROM json_each(:ids)) AND deleted_at IS NULL;

-- name: session_revisions
SELECT id, revision FROM sessions
WHERE id IN (SELECT value FROM json_each(:ids)) AND deleted_at IS NULL;

-- Whether some sessions have a message that nothing is in front of (turns_queue), or a parked turn,
-- which may have its answers (turns_parked).
-- name: waits_among
SELECT 1 FROM turns t
WHERE t.session_id IN (SELECT value FROM json_each(:ids)) AND t.state = 'queued'
  AND NOT EXISTS (SELECT 1 FROM turns o
                  WHERE o.session_id = t.session_id AND o.state IN ('running', 'waiting')
                    AND o.state = 'running')
UNION ALL
SELECT 1 FROM turns t WHERE t.session_id IN (SELECT value FROM json_each(:ids)) AND t.state = 'waiting'
LIMIT 1;

-- Turns of these sessions that somebody on another server wants stopped, or that run for a user who
-- was disabled there (turns_live).
-- name: stops_asked
SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
WHERE t.session_id IN (SELECT value FROM json_each(:ids))
  AND t.state IN ('running', 'waiting') AND t.state = 'running'
  AND (t.cancel_at IS NOT NULL OR u.disabled_at IS NOT NULL);
