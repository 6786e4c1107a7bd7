-- Raising tokens shuts out whoever was writing, as in mark_deleted.
-- name: delete_sessions_of
WITH gone AS (
    UPDATE sessions SET deleted_at = :now, token = token + 1
    WHERE user_id = :user AND deleted_at IS NULL
    RETURNING id),
streaming AS (UPDATE streams t SET token = -1 FROM gone WHERE t.session_id = gone.id)
SELECT id FROM gone;

-- `sessions` is a JSON list, here and below.
-- name: void_session_leases
UPDATE leases SET token = token + 1, holder = NULL, until = :now
WHERE name IN (SELECT 'session:' || json_array_elements_text(:sessions));

-- The same as withdraw_marks (turns_unremembered).
-- name: withdraw_all_marks
UPDATE turns SET memory_scope = NULL
WHERE session_id IN (SELECT json_array_elements_text(:sessions))
  AND memory_scope IS NOT NULL AND segment_id IS NULL AND undone IS NULL;

-- name: withdraw_all_segments
UPDATE memory_segments SET state = 'withdrawn', due_at = :now, error = NULL, rests_since = NULL
WHERE session_id IN (SELECT json_array_elements_text(:sessions)) AND state <> 'withdrawn';

-- name: purge_vectors
DELETE FROM search_vectors WHERE seq IN (SELECT json_array_elements_text(:seqs)::bigint);

-- name: purge_names_of_facts
DELETE FROM fact_entities
WHERE fact_id IN (SELECT id FROM facts WHERE seq IN (SELECT json_array_elements_text(:seqs)::bigint));

-- name: purge_facts
DELETE FROM facts WHERE seq IN (SELECT json_array_elements_text(:seqs)::bigint);

-- Whoever splits or sends an entry holds it: nothing of one is left behind.
-- name: outbox_of_user
SELECT id FROM outbox WHERE user_id = :user ORDER BY id LIMIT 1000 FOR UPDATE;

-- name: drop_outbox_pieces
DELETE FROM outbox_pieces WHERE outbox_id IN (SELECT json_array_elements_text(:ids));

-- name: drop_outbox
DELETE FROM outbox WHERE id IN (SELECT json_array_elements_text(:ids));

-- name: is_still_named
SELECT (EXISTS (SELECT 1 FROM sessions WHERE user_id = :user)
    OR EXISTS (SELECT 1 FROM blobs WHERE user_id = :user))::int;
