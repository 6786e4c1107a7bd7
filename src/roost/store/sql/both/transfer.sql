-- Columns stand in the order of the structs in document.py.

-- name: export_messages
SELECT id, role, parts, turn_id, partial, pinned, position, revision, born, gone, created_at
FROM message_rows WHERE session_id = :session
ORDER BY position, born;

-- name: export_turns
SELECT id, state, place, steer, route, options, ephemeral, input, message_id, start, step, attempt,
    reason, undone, created_at, started_at, ended_at
FROM turn_rows WHERE session_id = :session ORDER BY place, id;

-- name: export_tool_calls
SELECT id, turn_id, ordinal, name, arguments, state, started_at, ended_at
FROM tool_calls WHERE session_id = :session ORDER BY turn_id, ordinal;

-- name: export_epochs
SELECT epoch, kind, revision, detail, created_at
FROM epochs WHERE session_id = :session ORDER BY epoch;

-- name: export_usage
SELECT source, provider, model, calls, input_tokens, cached_tokens, cache_write_tokens, output_tokens,
    reasoning_tokens, cost, unpriced, at
FROM usage WHERE session_id = :session AND user_id = :user ORDER BY source, provider, model, at;

-- Or is (usage_of).
-- name: session_was_anothers
SELECT 1 FROM sessions WHERE id = :session AND user_id <> :user
UNION ALL
SELECT 1 FROM usage
WHERE session_id = :session AND user_id <> :user AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = :session)
LIMIT 1;

-- name: blobs_named
SELECT blob_id FROM session_blobs WHERE session_id = :session;

-- name: session_by_id
SELECT user_id, deleted_at IS NOT NULL FROM sessions WHERE id = :session;

-- Usage outlives its session (usage_of). `other` is what a user has it under who may not have these ids.
-- name: is_foreign
SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = :session AND user_id = :user)
    AND (EXISTS (SELECT 1 FROM sessions WHERE id = :session OR (id = :other AND user_id = :user))
         OR EXISTS (SELECT 1 FROM usage WHERE session_id = :session AND user_id <> :user));

-- name: import_standing
SELECT user_id, deleted_at IS NOT NULL, signature FROM sessions WHERE id = :session;

-- The session may have been here before, and its writers may not know that it was deleted: the token
-- begins where none of theirs can be.
-- name: import_session
INSERT INTO sessions (id, user_id, origin, title, title_by, pinned, archived, project, parent,
    parent_kind, signature, token, revision, epoch, head, created_at, active_at, ended_at, deleted_at)
VALUES (:session, :user, :origin, :title, :title_by, :pinned, :archived, :project, :parent,
    :parent_kind, :mark, :now, :revision, :epoch, :head, :created_at, :active_at, :ended_at, :now)
ON CONFLICT (id) DO NOTHING;

-- A session is unseen while it is being written: it stands there as if it were deleted, with a mark in
-- place of its signature.
-- name: make_unseen
UPDATE sessions SET deleted_at = :now, signature = :mark WHERE id = :session;

-- The purge comes a minute after the last time.
-- name: hold_unseen
UPDATE sessions SET deleted_at = :now
WHERE id = :session AND user_id = :user AND deleted_at IS NOT NULL AND signature = :mark
  AND NOT EXISTS (SELECT 1 FROM settings WHERE user_id = '' AND key = 'removed/' || :user)
RETURNING 1;

-- name: count_imported
SELECT (SELECT count(*) FROM message_rows WHERE session_id = :session),
    (SELECT count(*) FROM turns WHERE session_id = :session),
    (SELECT count(*) FROM tool_calls WHERE session_id = :session),
    (SELECT count(*) FROM epochs WHERE session_id = :session);

-- name: publish_unseen
UPDATE sessions SET deleted_at = NULL, signature = :signature WHERE id = :session;

-- name: move_messages_on
UPDATE messages SET position = position + 1
WHERE seq IN (SELECT seq FROM message_rows WHERE session_id = :session AND position >= :position);

-- name: move_turns_on
UPDATE turns SET start = start + 1 WHERE session_id = :session AND start >= :position;
