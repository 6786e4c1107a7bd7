-- Columns stand in the order of the structs in document.py.

-- name: export_messages
SELECT id, role, parts, turn_id, partial, pinned, position, revision, born, gone, created_at
FROM messages WHERE session_id = :session
ORDER BY position, born;

-- name: export_turns
SELECT t.id, t.state, t.place, t.steer, t.route, t.options, t.ephemeral, t.input, t.message_id,
    t.start, coalesce(r.step, t.step), coalesce(r.attempt, t.attempt), t.reason, t.undone,
    t.created_at, t.started_at, t.ended_at
FROM turns t LEFT JOIN streams r ON r.turn_id = t.id
WHERE t.session_id = :session ORDER BY t.place, t.id;

-- name: export_tool_calls
SELECT id, turn_id, ordinal, name, arguments, state, started_at, ended_at
FROM tool_calls WHERE session_id = :session ORDER BY turn_id, ordinal;

-- name: export_epochs
SELECT epoch, kind, revision, detail, created_at
FROM epochs WHERE session_id = :session ORDER BY epoch;

-- name: export_usage
SELECT source, provider, model, calls, input_tokens, cached_tokens, cache_write_tokens, output_tokens,
    reasoning_tokens, cost, unpriced, at
FROM usage WHERE session_id = :session ORDER BY source, provider, model, at;

-- name: session_by_id
SELECT user_id, deleted_at IS NOT NULL FROM sessions WHERE id = :session;

-- The session may have been here before, and its writers may not know that it was deleted: the token
-- begins where none of theirs can be.
-- name: import_session
INSERT INTO sessions (id, user_id, origin, title, title_by, pinned, archived, project, parent,
    parent_kind, token, revision, epoch, head, created_at, active_at, ended_at)
VALUES (:session, :user, :origin, :title, :title_by, :pinned, :archived, :project, :parent,
    :parent_kind, :now, :revision, :epoch, :head, :created_at, :active_at, :ended_at);
