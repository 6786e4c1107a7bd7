-- Sessions that can be worked on have no live lease, and a user who is not disabled. They are locked,
-- here and below, until they are claimed; those that another server is about to claim are left to it. First those whose
-- parked turn has its answers (turns_parked, approvals_pending). A session whose workspace is on
-- another server that is there is that one's, here and below.
-- name: answered_sessions
SELECT t.session_id
FROM turns t
    JOIN sessions s ON s.id = t.session_id
    LEFT JOIN leases l ON l.name = 'session:' || t.session_id
WHERE t.state = 'waiting' AND s.deleted_at IS NULL
  AND (l.holder IS NULL OR l.until <= :now)
  AND NOT EXISTS (SELECT 1 FROM approvals a
                  WHERE a.session_id = t.session_id AND a.turn_id = t.id AND a.state = 'pending')
  AND (s.workspace_at IS NULL OR s.workspace_at = :server OR NOT EXISTS (
      SELECT 1 FROM servers v WHERE v.id = s.workspace_at AND v.draining = 0))
  AND (SELECT u.disabled_at FROM users u WHERE u.id = s.user_id) IS NULL
LIMIT :limit
FOR NO KEY UPDATE OF s SKIP LOCKED;

-- Then those with a message in the queue and no live turn, by the arrival (turns_arrival) of the one
-- that runs first. A turn that was handed over goes before what waits (turns_interrupted): somebody
-- goes on with it within seconds, or not at all.
-- name: queued_sessions
SELECT t.session_id
FROM turns t
    JOIN sessions s ON s.id = t.session_id
    LEFT JOIN leases l ON l.name = 'session:' || t.session_id
WHERE t.state = 'queued' AND s.deleted_at IS NULL AND s.ended_at IS NULL
  AND (l.holder IS NULL OR l.until <= :now)
  AND NOT EXISTS (SELECT 1 FROM turns o
                  WHERE o.session_id = t.session_id AND o.state IN ('running', 'waiting'))
  AND t.id = (SELECT f.id FROM turns f WHERE f.session_id = t.session_id AND f.state = 'queued'
              ORDER BY f.place, f.id LIMIT 1)
  AND NOT EXISTS (SELECT 1 FROM turns m
                  WHERE m.session_id = t.session_id AND m.state = 'interrupted'
                    AND m.ended_at > :now - 10000 AND starts_with(m.reason, 'moved:'))
  AND (s.workspace_at IS NULL OR s.workspace_at = :server OR NOT EXISTS (
      SELECT 1 FROM servers v WHERE v.id = s.workspace_at AND v.draining = 0))
  AND (SELECT u.disabled_at FROM users u WHERE u.id = s.user_id) IS NULL
ORDER BY t.created_at, t.id LIMIT :limit
FOR NO KEY UPDATE OF s SKIP LOCKED;

-- The one that runs first in a session, if that may be worked on here.
-- name: next_turn_here
SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE t.session_id = :session AND t.state = 'queued'
  AND NOT EXISTS (SELECT 1 FROM turns m
                  WHERE m.session_id = t.session_id AND m.state = 'interrupted'
                    AND m.ended_at > :now - 10000 AND starts_with(m.reason, 'moved:'))
  AND (s.workspace_at IS NULL OR s.workspace_at = :server OR NOT EXISTS (
      SELECT 1 FROM servers v WHERE v.id = s.workspace_at AND v.draining = 0))
ORDER BY t.place, t.id LIMIT 1;

-- `sessions` is a JSON list.
-- name: claim_sessions
INSERT INTO leases (name, token, holder, since, until)
SELECT 'session:' || s.id, s.token + 1, :holder, :now, :now + :ttl
FROM json_array_elements_text(:sessions) j (id) JOIN sessions s ON s.id = j.id
ON CONFLICT (name) DO UPDATE
SET token = greatest(leases.token + 1, excluded.token), holder = excluded.holder,
    since = excluded.since, until = excluded.until
WHERE leases.holder IS NULL OR leases.until <= :now;

-- name: fence_sessions
WITH held AS (
    SELECT j.id, l.token
    FROM json_array_elements_text(:sessions) j (id) JOIN leases l ON l.name = 'session:' || j.id
    WHERE l.holder = :holder),
streaming AS (UPDATE streams t SET token = held.token FROM held WHERE t.session_id = held.id)
UPDATE sessions SET token = held.token FROM held WHERE sessions.id = held.id;

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
WHERE l.holder = :holder AND l.until > :now AND l.name LIKE 'session:%';

-- name: claimed_turns
SELECT * FROM turn_rows WHERE id IN (SELECT json_array_elements_text(:ids));

-- name: sessions_by_id
SELECT *, :now FROM session_details WHERE id IN (SELECT json_array_elements_text(:ids));

-- Turns that say "running" while nobody holds their session: left behind by a crash.
-- name: orphaned_turns
SELECT s.user_id, t.session_id, t.id, s.active_at
FROM turns t
    JOIN sessions s ON s.id = t.session_id
    LEFT JOIN leases l ON l.name = 'session:' || t.session_id
WHERE t.state = 'running' AND s.deleted_at IS NULL AND (l.holder IS NULL OR l.until <= :now)
ORDER BY t.session_id;

-- The tick. All turns in one statement: `batch` is a JSON list of [turn, attempt, token, first_seq,
-- last_seq, body]. A turn that has ended, moved to another attempt or lost its session is left out,
-- and so is a run that does not join on to what is stored.
-- name: append_deltas
INSERT INTO deltas (turn_id, first_seq, last_seq, previous, body)
SELECT t.turn_id, (j ->> 3)::bigint, (j ->> 4)::bigint, t.last_delta, j ->> 5
FROM json_array_elements(:batch) j JOIN streams t ON t.turn_id = j ->> 0
WHERE t.attempt = (j ->> 1)::bigint AND t.token = (j ->> 2)::bigint
  AND t.last_seq + 1 = (j ->> 3)::bigint
ORDER BY t.turn_id
FOR NO KEY UPDATE OF t;

-- This transaction's own, here and below: other servers tick at the same time.
-- name: count_new_deltas
SELECT count(*) FROM deltas WHERE id > :after AND xmin = pg_current_xact_id()::xid;

-- name: advance_streams
UPDATE streams
SET last_seq = d.last_seq, last_delta = d.id, first_delta = coalesce(streams.first_delta, d.id)
FROM deltas d
WHERE d.id > :after AND d.xmin = pg_current_xact_id()::xid AND d.turn_id = streams.turn_id;

-- Which turns of the batch still stream under the token they came with, and how far they are stored.
-- name: streaming_turns
SELECT t.turn_id, t.last_seq
FROM json_array_elements(:batch) j JOIN streams t ON t.turn_id = j ->> 0
WHERE t.attempt = (j ->> 1)::bigint AND t.token = (j ->> 2)::bigint;

-- `held` is a JSON list of [name, token]. Rewritten only when a third of the time is gone, so that a
-- tick writes few of them. A tick waits for no row but those of its streams, here and below.
-- name: renew_leases
UPDATE leases SET until = :now + :ttl
WHERE name IN (
    SELECT l.name FROM json_array_elements(:held) j JOIN leases l ON l.name = j ->> 0
    WHERE l.token = (j ->> 1)::bigint AND l.holder IS NOT NULL AND l.until < :now + :ttl * 2 / 3
    FOR NO KEY UPDATE OF l SKIP LOCKED);

-- name: lost_leases
SELECT j ->> 0
FROM json_array_elements(:held) j
    LEFT JOIN leases l ON l.name = j ->> 0
WHERE l.token IS DISTINCT FROM (j ->> 1)::bigint OR l.holder IS NULL;

-- A long stream shows in the list of sessions, at a coarse grain.
-- name: stir_sessions
UPDATE sessions SET active_at = :now
WHERE id IN (
    SELECT o.id
    FROM json_array_elements(:held) j
        JOIN sessions o ON o.id = substr(j ->> 0, 9) AND o.token = (j ->> 1)::bigint
        JOIN turns t ON t.session_id = o.id AND t.state = 'running'
    WHERE o.active_at < :now - 30000 AND o.deleted_at IS NULL
    FOR NO KEY UPDATE OF o SKIP LOCKED);

-- Turns that may go on by themselves after a crash (turns_interrupted): they stopped short lately, have
-- not gone on so far, are still the end of the live history, and nothing they did is in doubt.
-- One that a server handed over when it stopped did not stop by itself: it goes on however often.
-- name: continuable_turns
SELECT s.user_id, t.session_id, t.id, s.active_at,
  (s.workspace_at IS NULL OR s.workspace_at = :server OR NOT EXISTS (
      SELECT 1 FROM servers v WHERE v.id = s.workspace_at AND v.draining = 0))
FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE t.state = 'interrupted' AND t.ended_at > :now - :window
  AND (t.continued = 0 OR starts_with(t.reason, 'moved:')) AND t.cancel_at IS NULL AND t.undone IS NULL AND t.start IS NOT NULL
  AND t.route IS DISTINCT FROM 'subagent'
  AND s.deleted_at IS NULL AND s.ended_at IS NULL
  AND coalesce((SELECT e.kind FROM messages m
                    JOIN epochs e ON e.session_id = m.session_id AND e.epoch = m.gone
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
FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE t.state = 'waiting' AND t.route = 'subagent' AND s.deleted_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM turns o WHERE o.session_id = s.parent_id
                  AND o.state IN ('running', 'waiting') AND o.state = 'running')
UNION ALL
SELECT s.user_id, t.session_id, t.id, s.active_at
FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE t.state = 'queued' AND t.route = 'subagent' AND s.deleted_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM turns o WHERE o.session_id = s.parent_id
                  AND o.state IN ('running', 'waiting') AND o.state = 'running');

-- Where the users of claimed sessions are: their messages say what time it is there. Those who are
-- disabled are not worked for.
-- name: time_zones
SELECT u.id, u.time_zone, u.disabled_at IS NOT NULL FROM users u
WHERE u.id IN (SELECT json_array_elements_text(:users));

-- name: sessions_among
SELECT id FROM sessions
WHERE id IN (SELECT json_array_elements_text(:ids)) AND deleted_at IS NULL;

-- name: session_revisions
SELECT id, revision FROM sessions
WHERE id IN (SELECT json_array_elements_text(:ids)) AND deleted_at IS NULL;

-- Whether some sessions have a message that nothing is in front of (turns_queue), or a parked turn,
-- which may have its answers (turns_parked).
-- name: waits_among
SELECT 1 FROM turns t
WHERE t.session_id IN (SELECT json_array_elements_text(:ids)) AND t.state = 'queued'
  AND NOT EXISTS (SELECT 1 FROM turns o
                  WHERE o.session_id = t.session_id AND o.state IN ('running', 'waiting')
                    AND o.state = 'running')
UNION ALL
SELECT 1 FROM turns t WHERE t.session_id IN (SELECT json_array_elements_text(:ids)) AND t.state = 'waiting'
LIMIT 1;

-- Turns of these sessions that somebody on another server wants stopped, or that run for a user who
-- was disabled there (turns_live).
-- name: stops_asked
SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
WHERE t.session_id IN (SELECT json_array_elements_text(:ids))
  AND t.state IN ('running', 'waiting') AND t.state = 'running'
  AND (t.cancel_at IS NOT NULL OR u.disabled_at IS NOT NULL);
