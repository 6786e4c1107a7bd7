-- Raising tokens shuts out whoever was writing.
-- name: delete_sessions_of
UPDATE sessions SET deleted_at = :now, token = token + 1
WHERE user_id = :user AND deleted_at IS NULL
RETURNING id;

-- `sessions` is a JSON list, here and below.
-- name: void_session_leases
UPDATE leases SET token = token + 1, holder = NULL, until = :now
WHERE name IN (SELECT 'session:' || value FROM json_each(:sessions));

-- The same as withdraw_marks (turns_unremembered).
-- name: withdraw_all_marks
UPDATE turns SET memory_scope = NULL
WHERE session_id IN (SELECT value FROM json_each(:sessions))
  AND memory_scope IS NOT NULL AND segment_id IS NULL AND undone IS NULL;

-- name: withdraw_all_segments
UPDATE memory_segments SET state = 'withdrawn', due_at = :now, error = NULL, rests_since = NULL
WHERE session_id IN (SELECT value FROM json_each(:sessions)) AND state <> 'withdrawn';

-- name: purge_vectors
DELETE FROM search_vectors WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: purge_names_of_facts
DELETE FROM fact_entities
WHERE fact_id IN (SELECT id FROM facts WHERE seq IN (SELECT value FROM json_each(:seqs)));

-- name: purge_facts
DELETE FROM facts WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: outbox_of_user
SELECT id FROM outbox WHERE user_id = :user LIMIT 1000;

-- name: drop_outbox_pieces
DELETE FROM outbox_pieces WHERE outbox_id IN (SELECT value FROM json_each(:ids));

-- name: drop_outbox
DELETE FROM outbox WHERE id IN (SELECT value FROM json_each(:ids));

-- name: is_still_named
SELECT EXISTS (SELECT 1 FROM sessions WHERE user_id = :user)
    OR EXISTS (SELECT 1 FROM blobs WHERE user_id = :user);
