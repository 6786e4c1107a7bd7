-- By their ids: the plus keeps the planner from walking all turns of the session.
-- name: turns_by_id
SELECT * FROM turn_details
WHERE id IN (SELECT value FROM json_each(:ids)) AND +session_id = :session
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
                CROSS JOIN epochs e ON e.session_id = t.session_id AND e.epoch = m.gone
              WHERE m.id = t.message_id) END
FROM turns t WHERE t.id = :turn;

-- name: open_stream
INSERT INTO streams (turn_id, session_id, step, attempt) VALUES (:turn, :session, :step, :attempt);

-- name: set_turn_state
UPDATE turns
SET state = :state, reason = :reason,
    ended_at = CASE WHEN :ended <> 0 THEN coalesce(:at, :now) END,
    step = coalesce((SELECT s.step FROM streams r CROSS JOIN sessions s ON s.id = r.session_id
                     WHERE r.turn_id = :turn), step),
    attempt = coalesce((SELECT s.attempt FROM streams r CROSS JOIN sessions s ON s.id = r.session_id
                        WHERE r.turn_id = :turn), attempt)
WHERE id = :turn;

-- name: list_tool_calls
SELECT c.id, c.turn_id, c.name, c.arguments, c.state, c.result, c.started_at, c.ended_at
FROM tool_calls c CROSS JOIN sessions s ON s.id = c.session_id
WHERE c.turn_id = :turn AND s.user_id = :user AND s.deleted_at IS NULL
ORDER BY c.ordinal;

-- name: tool_calls_by_id
SELECT id, turn_id, name, arguments, state, result, started_at, ended_at
FROM tool_calls
WHERE session_id = :session AND id IN (SELECT value FROM json_each(:ids))
ORDER BY turn_id, ordinal;

-- name: add_usage
INSERT INTO usage (source, provider, model, user_id, session_id, calls, input_tokens, cached_tokens,
    cache_write_tokens, output_tokens, reasoning_tokens, cost, unpriced, at)
VALUES (:source, :provider, :model, :user, :session, :calls, :input_tokens, :cached_tokens,
    :cache_write_tokens, :output_tokens, :reasoning_tokens, coalesce(:cost, 0),
    CASE WHEN :cost IS NULL THEN :calls ELSE 0 END, :now)
ON CONFLICT (source, provider, model, at / 86400000) DO UPDATE
SET calls = calls + excluded.calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_tokens = cached_tokens + excluded.cached_tokens,
    cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    cost = cost + excluded.cost,
    unpriced = unpriced + excluded.unpriced,
    at = excluded.at;

-- The chain of the attempt that is streaming, oldest first.
-- name: stream_deltas
WITH RECURSIVE chain (id, previous, first_seq, last_seq, body) AS (
    SELECT d.id, d.previous, d.first_seq, d.last_seq, d.body
    FROM streams t
        CROSS JOIN deltas d ON d.id = t.last_delta
        CROSS JOIN sessions s ON s.id = t.session_id
    WHERE t.turn_id = :turn AND t.attempt = s.attempt AND s.user_id = :user AND s.deleted_at IS NULL
    UNION ALL
    SELECT d.id, d.previous, d.first_seq, d.last_seq, d.body
    FROM chain JOIN deltas d ON d.id = chain.previous
)
SELECT first_seq, last_seq, body FROM chain ORDER BY id;

-- What attempts that still stream have stored, each after a seq that ends a run: `batch` is a JSON list
-- of [user, session, turn, attempt, after]. All of it in order of time, so that what goes beyond `most`
-- bytes can be left for another time.
-- name: streams_after
WITH RECURSIVE chain (number, after, id, previous, first_seq, last_seq, body) AS (
    SELECT j.key, j.value ->> 4, d.id, d.previous, d.first_seq, d.last_seq, d.body
    FROM json_each(:batch) j
        CROSS JOIN streams t ON t.turn_id = j.value ->> 2
        CROSS JOIN sessions s ON s.id = t.session_id
        CROSS JOIN deltas d ON d.id = t.last_delta
    WHERE t.session_id = j.value ->> 1 AND t.attempt = j.value ->> 3 AND s.attempt = t.attempt
      AND t.last_seq > j.value ->> 4
      AND s.user_id = j.value ->> 0 AND s.deleted_at IS NULL
    UNION ALL
    SELECT number, after, d.id, d.previous, d.first_seq, d.last_seq, d.body
    FROM chain JOIN deltas d ON d.id = chain.previous
    WHERE chain.first_seq > after + 1
)
SELECT number, first_seq, last_seq, body, bytes
FROM (SELECT *, sum(length(CAST(body AS BLOB))) OVER (ORDER BY id) AS bytes FROM chain)
WHERE bytes - length(CAST(body AS BLOB)) < :most
ORDER BY id;
