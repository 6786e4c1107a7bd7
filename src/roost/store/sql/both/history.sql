-- name: pin_message
UPDATE messages SET pinned = :pinned WHERE id = :message AND pinned <> :pinned RETURNING 1;

-- name: live_messages
SELECT id, role, parts, turn_id, partial, position, born, gone, created_at, pinned
FROM message_rows
WHERE session_id = :session AND gone IS NULL AND position > :after
ORDER BY position;

-- Newest first, for paging back through a conversation: at most so many, and none after those that
-- come to so many bytes. What is left out is measured but not read.
-- name: page_of_messages
WITH sized AS (
    SELECT seq, position, octet_length(parts) AS size
    FROM message_rows
    WHERE session_id = :session AND gone IS NULL AND position < :before
    ORDER BY position DESC LIMIT :limit
), placed AS (
    SELECT seq, sum(size) OVER (ORDER BY position DESC) - size AS above FROM sized
)
SELECT m.id, m.role, m.parts, m.turn_id, m.partial, m.position, m.born, m.gone, m.created_at, m.pinned
FROM placed p JOIN messages m ON m.seq = p.seq
WHERE p.above < :bytes
ORDER BY m.position DESC;

-- name: is_message_before
SELECT 1 FROM message_rows WHERE session_id = :session AND gone IS NULL AND position < :before LIMIT 1;

-- The same, of what left the history with an epoch.
-- name: page_of_replaced
WITH sized AS (
    SELECT seq, position, octet_length(parts) AS size
    FROM message_rows
    WHERE session_id = :session AND gone = :epoch AND position < :before
    ORDER BY position DESC LIMIT :limit
), placed AS (
    SELECT seq, sum(size) OVER (ORDER BY position DESC) - size AS above FROM sized
)
SELECT m.id, m.role, m.parts, m.turn_id, m.partial, m.position, m.born, m.gone, m.created_at, m.pinned
FROM placed p JOIN messages m ON m.seq = p.seq
WHERE p.above < :bytes
ORDER BY m.position DESC;

-- name: is_replaced_before
SELECT 1 FROM message_rows WHERE session_id = :session AND gone = :epoch AND position < :before LIMIT 1;

-- name: raise_epoch
UPDATE sessions SET epoch = epoch + 1, context_tokens = :context WHERE id = :session
RETURNING epoch;

-- The key refuses a second rewrite of the same epoch.
-- name: open_epoch
INSERT INTO epochs (session_id, epoch, kind, revision, detail, created_at)
VALUES (:session, :epoch, :kind, :revision, :detail, :now);

-- name: find_epoch
SELECT epoch, kind, revision, detail, created_at FROM epochs
WHERE session_id = :session AND epoch = :epoch;

-- name: retire_from
UPDATE messages SET gone = :epoch
WHERE seq IN (SELECT seq FROM message_rows
              WHERE session_id = :session AND gone IS NULL AND position >= :position);

-- name: retire_written_at
UPDATE messages SET gone = :epoch
WHERE seq IN (SELECT seq FROM message_rows
              WHERE session_id = :session AND gone IS NULL AND revision = :revision);

-- name: revive_messages
UPDATE messages SET gone = NULL
WHERE seq IN (SELECT seq FROM message_rows WHERE session_id = :session AND gone = :epoch);

-- By its places in the history (turns_begun).
-- name: undo_turns_from
UPDATE turns SET undone = :epoch
WHERE session_id = :session AND start >= :position AND undone IS NULL;

-- Only those that began were taken back (turns_begun).
-- name: redo_turns
UPDATE turns SET undone = NULL WHERE session_id = :session AND undone = :epoch AND start IS NOT NULL;

-- name: recount
UPDATE sessions
SET messages = (SELECT count(*) FROM message_rows WHERE session_id = :session AND gone IS NULL),
    turns = (SELECT count(*) FROM turns WHERE session_id = :session AND start IS NOT NULL
             AND undone IS NULL)
WHERE id = :session;

-- name: messages_since
SELECT 1 FROM message_rows WHERE session_id = :session AND gone IS NULL AND revision > :revision LIMIT 1;

-- name: messages_to_copy
SELECT id, turn_id, octet_length(parts) FROM message_rows
WHERE session_id = :session AND gone IS NULL AND position <= :end
ORDER BY position;

-- As they are to stand there: one that goes on after the cut, or is under way, stopped short.
-- name: turns_to_copy
SELECT CASE WHEN t.state IN ('running', 'waiting') OR t.id IN (
            SELECT x.turn_id FROM message_rows x
            WHERE x.session_id = :session AND x.gone IS NULL AND x.position > :end)
        THEN 'interrupted' ELSE t.state END,
    t.step, t.attempt, t.reason, t.ended_at, t.id, t.message_id, octet_length(t.input)
FROM turn_rows t
WHERE t.session_id = :session;

-- name: set_head
UPDATE sessions SET head = :head WHERE id = :session;

-- name: copy_blob_names
INSERT INTO session_blobs (session_id, blob_id)
SELECT :branch, blob_id FROM session_blobs WHERE session_id = :session;
