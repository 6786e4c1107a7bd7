-- A turn stays in its session.
-- name: lock_session_of_turn
SELECT 1 FROM sessions WHERE id = (SELECT session_id FROM turns WHERE id = :turn) FOR NO KEY UPDATE;

-- By their ids: the plus keeps the planner from walking all turns of the session.
-- name: turns_by_id
SELECT * FROM turn_details
WHERE id IN (SELECT json_array_elements_text(:ids)) AND session_id = :session
ORDER BY place, id;

-- What came after it is found by its place (turns_begun). What was compacted and then cleared is gone by the
-- clear, though its messages went with the compaction.
-- name: turn_place
SELECT
    EXISTS (SELECT 1 FROM turns o
            WHERE o.session_id = t.session_id AND o.start > t.start AND o.undone IS NULL),
    CASE WHEN EXISTS (
            SELECT 1 FROM epochs e
            WHERE e.session_id = t.session_id AND e.kind = 'clear'
              AND e.epoch > coalesce((SELECT b.born FROM messages b WHERE b.id = t.message_id), 0)
              AND NOT EXISTS (SELECT 1 FROM epochs r
                              WHERE r.session_id = e.session_id AND r.epoch = e.epoch + 1 AND r.kind = 'restore'))
        THEN 'clear'
        ELSE (SELECT e.kind FROM messages m
                JOIN epochs e ON e.session_id = m.session_id AND e.epoch = m.gone
              WHERE m.id = t.message_id) END
FROM turns t WHERE t.id = :turn;

-- name: open_stream
INSERT INTO streams (turn_id, session_id, token, step, attempt)
SELECT :turn, id, token, :step, :attempt FROM sessions WHERE id = :session;

-- name: set_turn_state
UPDATE turns
SET state = :state, reason = :reason,
    ended_at = CASE WHEN :ended <> 0 THEN coalesce(:at, :now) END,
    step = coalesce((SELECT step FROM streams WHERE turn_id = :turn), step),
    attempt = coalesce((SELECT attempt FROM streams WHERE turn_id = :turn), attempt)
WHERE id = :turn;

-- name: list_tool_calls
SELECT c.id, c.turn_id, c.name, c.arguments, c.state, c.result, c.started_at, c.ended_at
FROM tool_calls c JOIN sessions s ON s.id = c.session_id
WHERE c.turn_id = :turn AND s.user_id = :user AND s.deleted_at IS NULL
ORDER BY c.ordinal;

-- name: tool_calls_by_id
SELECT id, turn_id, name, arguments, state, result, started_at, ended_at
FROM tool_calls
WHERE session_id = :session AND id IN (SELECT json_array_elements_text(:ids))
ORDER BY turn_id, ordinal;

-- name: add_usage
INSERT INTO usage (source, provider, model, user_id, session_id, calls, input_tokens, cached_tokens,
    cache_write_tokens, output_tokens, reasoning_tokens, cost, unpriced, at)
VALUES (:source, :provider, :model, :user, :session, :calls, :input_tokens, :cached_tokens,
    :cache_write_tokens, :output_tokens, :reasoning_tokens, coalesce(:cost, 0),
    CASE WHEN :cost IS NULL THEN :calls ELSE 0 END, :now)
ON CONFLICT (source, provider, model, (at / 86400000)) DO UPDATE
SET calls = usage.calls + excluded.calls,
    input_tokens = usage.input_tokens + excluded.input_tokens,
    cached_tokens = usage.cached_tokens + excluded.cached_tokens,
    cache_write_tokens = usage.cache_write_tokens + excluded.cache_write_tokens,
    output_tokens = usage.output_tokens + excluded.output_tokens,
    reasoning_tokens = usage.reasoning_tokens + excluded.reasoning_tokens,
    cost = usage.cost + excluded.cost,
    unpriced = usage.unpriced + excluded.unpriced,
    at = excluded.at;

-- name: lock_outbox
SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('outbox:' || :route, 0));

-- The chain of the attempt that is streaming, oldest first.
-- name: stream_deltas
WITH RECURSIVE chain (id, previous, first_seq, last_seq, body) AS (
    SELECT d.id, d.previous, d.first_seq, d.last_seq, d.body
    FROM streams t
        JOIN deltas d ON d.id = t.last_delta
        JOIN sessions s ON s.id = t.session_id
    WHERE t.turn_id = :turn AND s.user_id = :user AND s.deleted_at IS NULL
    UNION ALL
    SELECT d.id, d.previous, d.first_seq, d.last_seq, d.body
    FROM chain JOIN deltas d ON d.id = chain.previous
)
SELECT first_seq, last_seq, body FROM chain ORDER BY id;

-- What attempts that still stream have stored, each after a seq that ends a run: `batch` is a JSON list
-- of [user, session, turn, attempt, after]. All of it in order of time, so that what goes beyond `most`
-- bytes can be left for another time. One that has no more than its newest run takes three rows.
-- name: streams_after
SELECT number, first_seq, last_seq, body, bytes
FROM (
    WITH RECURSIVE chain (number, after, id, previous, first_seq, last_seq, body) AS (
        SELECT b.number - 1, (b.j ->> 4)::bigint, d.id, d.previous, d.first_seq, d.last_seq, d.body
        FROM json_array_elements(:batch) WITH ORDINALITY AS b (j, number)
            JOIN streams t ON t.turn_id = b.j ->> 2
            JOIN sessions s ON s.id = t.session_id
            JOIN deltas d ON d.id = t.last_delta
        WHERE t.session_id = b.j ->> 1 AND t.attempt = (b.j ->> 3)::bigint
          AND t.last_seq > (b.j ->> 4)::bigint
          AND s.user_id = b.j ->> 0 AND s.deleted_at IS NULL
        UNION ALL
        SELECT c.number, c.after, d.id, d.previous, d.first_seq, d.last_seq, d.body
        FROM chain c JOIN deltas d ON d.id = c.previous
        WHERE c.first_seq > c.after + 1
    )
    SELECT *, sum(octet_length(body)) OVER (ORDER BY id) AS bytes FROM chain
) found
WHERE bytes - octet_length(body) < :most
ORDER BY id;
