-- name: messages_to_purge
SELECT seq FROM message_rows WHERE session_id = :session LIMIT 200;

-- Those that return rows are to be repeated until they return none: a long session has many.
-- name: purge_events
DELETE FROM events
WHERE session_id = :session AND revision IN (
    SELECT revision FROM events WHERE session_id = :session LIMIT 2000)
RETURNING 1;

-- name: purge_streams
DELETE FROM streams WHERE session_id = :session;

-- name: purge_tool_calls
DELETE FROM tool_calls
WHERE session_id = :session AND id IN (
    SELECT id FROM tool_calls WHERE session_id = :session LIMIT 1000)
RETURNING 1;

-- name: purge_approvals
DELETE FROM approvals WHERE session_id = :session;

-- name: purge_rules
DELETE FROM approval_rules WHERE session_id = :session;

-- The same as purge_progress.
-- name: purge_turns
DELETE FROM turns
WHERE id IN (SELECT id FROM turns WHERE session_id = :session ORDER BY place, id LIMIT 1000)
RETURNING 1;

-- name: purge_segments
DELETE FROM memory_segments WHERE session_id = :session AND NOT (state = 'withdrawn' AND tries > 0);

-- name: purge_prompts
DELETE FROM prompts WHERE session_id = :session;

-- name: purge_epochs
DELETE FROM epochs WHERE session_id = :session;

-- name: purge_blob_names
DELETE FROM session_blobs
WHERE session_id = :session AND blob_id IN (
    SELECT blob_id FROM session_blobs WHERE session_id = :session LIMIT 1000)
RETURNING 1;

-- name: purge_schedules
UPDATE schedules SET session_id = NULL WHERE session_id = :session;

-- Of those turns that go first.
-- name: purge_progress
-- locks: lock_outbox_of_session
DELETE FROM progress WHERE turn_id IN (
    SELECT id FROM turns WHERE session_id = :session ORDER BY place, id LIMIT 1000);

-- name: purge_lease
DELETE FROM leases WHERE name = 'session:' || :session;

-- name: purge_session
DELETE FROM sessions WHERE id = :session;

-- name: expire_keys
UPDATE turns SET key = NULL
WHERE id IN (SELECT id FROM turns WHERE key IS NOT NULL AND created_at < :now - :keep LIMIT 1000)
RETURNING 1;

-- name: expire_inbox
DELETE FROM inbox
WHERE (channel, external_id) IN (
    SELECT channel, external_id FROM inbox WHERE handled_at < :now - :keep LIMIT 1000)
RETURNING 1;
