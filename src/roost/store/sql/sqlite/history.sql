-- name: insert_message
INSERT INTO messages (id, session_id, position, revision, born, turn_id, role, partial, parts,
    created_at)
VALUES (:message, :session, :position, :revision, :epoch, :turn, :role, :partial, :parts, :now);

-- name: find_message
SELECT m.position, m.revision, m.born, m.gone, m.session_id
FROM messages m CROSS JOIN sessions s ON s.id = m.session_id
WHERE m.id = :message AND s.user_id = :user;

-- name: live_messages
SELECT id, role, parts, turn_id, partial, position, born, gone, created_at
FROM messages
WHERE session_id = :session AND gone IS NULL AND position > :after
ORDER BY position;

-- Newest first, for paging back through a conversation.
-- name: page_of_messages
SELECT id, role, parts, turn_id, partial, position, born, gone, created_at
FROM messages
WHERE session_id = :session AND gone IS NULL AND position < :before
ORDER BY position DESC LIMIT :limit;

-- name: messages_by_id
SELECT id, role, parts, turn_id, partial, position, born, gone, created_at
FROM messages
WHERE id IN (SELECT value FROM json_each(:ids)) AND session_id = :session
ORDER BY seq;

-- name: replaced_messages
SELECT id, role, parts, turn_id, partial, position, born, gone, created_at
FROM messages
WHERE session_id = :session AND gone = :epoch
ORDER BY position;

-- name: events_since
SELECT revision, at, body FROM events
WHERE session_id = :session AND revision > :revision
ORDER BY revision;

-- name: raise_epoch
UPDATE sessions SET epoch = epoch + 1 WHERE id = :session RETURNING epoch;

-- The key refuses a second rewrite of the same epoch.
-- name: open_epoch
INSERT INTO epochs (session_id, epoch, kind, revision, detail, created_at)
VALUES (:session, :epoch, :kind, :revision, :detail, :now);

-- name: find_epoch
SELECT kind, revision, detail FROM epochs WHERE session_id = :session AND epoch = :epoch;

-- name: list_epochs
SELECT e.epoch, e.kind, e.revision, e.detail, e.created_at
FROM epochs e CROSS JOIN sessions s ON s.id = e.session_id
WHERE e.session_id = :session AND s.user_id = :user AND s.deleted_at IS NULL
ORDER BY e.epoch;

-- name: retire_from
UPDATE messages SET gone = :epoch
WHERE session_id = :session AND gone IS NULL AND position >= :position;

-- name: retire_messages
UPDATE messages SET gone = :epoch
WHERE id IN (SELECT value FROM json_each(:ids)) AND session_id = :session AND gone IS NULL
RETURNING id, position;

-- name: retire_written_at
UPDATE messages SET gone = :epoch
WHERE session_id = :session AND revision = :revision AND gone IS NULL;

-- name: revive_messages
UPDATE messages SET gone = NULL WHERE session_id = :session AND gone = :epoch;

-- name: undo_turns_from
UPDATE turns SET undone = :epoch
WHERE session_id = :session AND start >= :position AND undone IS NULL
  AND state NOT IN ('running', 'waiting');

-- name: redo_turns
UPDATE turns SET undone = NULL WHERE session_id = :session AND undone = :epoch;

-- name: recount
UPDATE sessions
SET messages = (SELECT count(*) FROM messages WHERE session_id = :session AND gone IS NULL),
    turns = (SELECT count(*) FROM turns WHERE session_id = :session AND start IS NOT NULL
             AND undone IS NULL)
WHERE id = :session;

-- name: messages_since
SELECT 1 FROM messages WHERE session_id = :session AND gone IS NULL AND revision > :revision LIMIT 1;

-- name: names_to_copy
SELECT id, turn_id FROM messages
WHERE session_id = :session AND gone IS NULL AND position <= :end
ORDER BY position;

-- name: set_head
UPDATE sessions SET head = :head WHERE id = :session;

-- A branch: rows copied under the ids given in `ids`, a JSON object of old to new.
-- name: copy_messages
INSERT INTO messages (id, session_id, position, revision, born, turn_id, role, partial, parts,
    created_at)
SELECT ids.value, :branch, m.position, 1, 0, :ids ->> m.turn_id, m.role, m.partial, m.parts,
    m.created_at
FROM messages m JOIN json_each(:ids) ids ON ids.key = m.id
WHERE m.session_id = :session
ORDER BY m.position;

-- name: copy_turns
INSERT INTO turns (id, session_id, state, place, steer, route, options, ephemeral, fingerprint, input,
    message_id, start, step, attempt, reason, created_at, started_at, ended_at)
SELECT ids.value, :branch, CASE WHEN t.state IN ('running', 'waiting') THEN 'interrupted' ELSE t.state END,
    t.place, t.steer, t.route, t.options, t.ephemeral, t.fingerprint, t.input,
    :ids ->> t.message_id, t.start, coalesce(r.step, t.step), coalesce(r.attempt, t.attempt), t.reason,
    t.created_at, t.started_at, t.ended_at
FROM turns t JOIN json_each(:ids) ids ON ids.key = t.id LEFT JOIN streams r ON r.turn_id = t.id
WHERE t.session_id = :session;

-- name: copy_tool_calls
INSERT INTO tool_calls (session_id, id, turn_id, ordinal, name, arguments, state, result, started_at,
    ended_at)
SELECT :branch, c.id, ids.value, c.ordinal, c.name, c.arguments,
    CASE WHEN c.state IN ('requested', 'waiting', 'running') THEN 'cancelled' ELSE c.state END,
    c.result, c.started_at, c.ended_at
FROM tool_calls c JOIN json_each(:ids) ids ON ids.key = c.turn_id
WHERE c.session_id = :session;

-- name: copy_blob_names
INSERT INTO session_blobs (session_id, blob_id)
SELECT :branch, blob_id FROM session_blobs WHERE session_id = :session;
