-- Columns stand in the order of the structs in document.py. Rows that are there already were inserted by
-- an import of the same document.

-- name: count_stored
SELECT count(*) FROM messages
WHERE session_id = :session AND id IN (SELECT json_array_elements_text(:ids));

-- name: taken_ids
SELECT id FROM messages WHERE id IN (SELECT json_array_elements_text(:ids)) AND session_id <> :session
UNION ALL
SELECT id FROM turns WHERE id IN (SELECT json_array_elements_text(:ids)) AND session_id <> :session
UNION ALL
SELECT id FROM sessions WHERE id IN (SELECT json_array_elements_text(:ids)) AND id <> :session
LIMIT 1;

-- name: import_messages
INSERT INTO messages (session_id, id, role, parts, turn_id, partial, pinned, position, revision, born,
    gone, created_at)
SELECT :session, value ->> 0, value ->> 1, value ->> 2, value ->> 3, (value ->> 4)::bool::int,
    (value ->> 5)::bool::int, (value ->> 6)::bigint, (value ->> 7)::bigint, (value ->> 8)::bigint,
    (value ->> 9)::bigint, (value ->> 10)::bigint
FROM json_array_elements(:rows) value
ON CONFLICT DO NOTHING;

-- Nothing goes on by itself after an import: what was under way stopped short, what waited is gone.
-- name: import_turns
INSERT INTO turns (session_id, id, state, place, steer, route, options, ephemeral, fingerprint, input,
    message_id, start, step, attempt, continued, reason, undone, created_at, started_at, ended_at)
SELECT :session, value ->> 0,
    CASE value ->> 1 WHEN 'running' THEN 'interrupted' WHEN 'waiting' THEN 'interrupted'
        WHEN 'queued' THEN 'removed' ELSE value ->> 1 END,
    (value ->> 2)::bigint, (value ->> 3)::bool::int, value ->> 4, value ->> 5, (value ->> 6)::bool::int,
    ''::bytea, value ->> 7, value ->> 8, (value ->> 9)::bigint, (value ->> 10)::bigint,
    (value ->> 11)::bigint, 1, value ->> 12, (value ->> 13)::bigint, (value ->> 14)::bigint,
    (value ->> 15)::bigint, (value ->> 16)::bigint
FROM json_array_elements(:rows) value
ON CONFLICT DO NOTHING;

-- name: import_tool_calls
INSERT INTO tool_calls (session_id, id, turn_id, ordinal, name, arguments, state, started_at, ended_at)
SELECT :session, value ->> 0, value ->> 1, (value ->> 2)::bigint, value ->> 3, value ->> 4,
    CASE value ->> 5 WHEN 'running' THEN 'unknown' WHEN 'requested' THEN 'cancelled'
        WHEN 'waiting' THEN 'cancelled' ELSE value ->> 5 END,
    (value ->> 6)::bigint, (value ->> 7)::bigint
FROM json_array_elements(:rows) value
ON CONFLICT DO NOTHING;

-- name: import_epochs
INSERT INTO epochs (session_id, epoch, kind, revision, detail, created_at)
SELECT :session, (value ->> 0)::bigint, value ->> 1, (value ->> 2)::bigint, value ->> 3,
    (value ->> 4)::bigint
FROM json_array_elements(:rows) value
ON CONFLICT DO NOTHING;

-- What was used stays counted when its session is deleted, so it may be here already.
-- name: import_usage
INSERT INTO usage (user_id, session_id, source, provider, model, calls, input_tokens, cached_tokens,
    cache_write_tokens, output_tokens, reasoning_tokens, cost, unpriced, at)
SELECT :user, :session, value ->> 0, value ->> 1, value ->> 2, (value ->> 3)::bigint,
    (value ->> 4)::bigint, (value ->> 5)::bigint, (value ->> 6)::bigint, (value ->> 7)::bigint,
    (value ->> 8)::bigint, (value ->> 9)::bigint, (value ->> 10)::bigint, (value ->> 11)::bigint
FROM json_array_elements(:rows) value
ON CONFLICT DO NOTHING;

-- name: recount_usage
UPDATE sessions
SET (input_tokens, output_tokens, cost, unpriced) = (
    SELECT coalesce(sum(input_tokens), 0)::bigint, coalesce(sum(output_tokens), 0)::bigint, coalesce(sum(cost), 0)::bigint,
        coalesce(sum(unpriced), 0)::bigint
    FROM usage WHERE session_id = :session AND user_id = :user)
WHERE id = :session;
