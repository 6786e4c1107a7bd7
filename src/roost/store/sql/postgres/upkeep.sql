-- Deltas that no stream reaches back to, from the old end.
-- name: sweep_deltas
DELETE FROM deltas
WHERE id < coalesce((SELECT min(first_delta) FROM streams), 1::bigint << 62)
  AND id <= (SELECT min(id) FROM deltas) + 2000
RETURNING 1;

-- A round through all deltas, a window at a time: one long stream keeps only its own.
-- name: end_of_window
SELECT coalesce(max(id), :until)
FROM (SELECT id FROM deltas WHERE id > :after AND id <= :until ORDER BY id LIMIT :window) AS found;

-- name: sweep_window
DELETE FROM deltas
WHERE id > :after AND id <= :end
  AND id < coalesce((SELECT first_delta FROM streams r WHERE r.turn_id = deltas.turn_id), 1::bigint << 62);

-- name: session_to_purge
SELECT id FROM sessions WHERE deleted_at < :now - 60000 ORDER BY deleted_at LIMIT 1
FOR UPDATE SKIP LOCKED;

-- name: purge_index
WITH queued AS (
    DELETE FROM search_queue WHERE seq IN (SELECT json_array_elements_text(:seqs)::bigint))
DELETE FROM search WHERE seq IN (SELECT json_array_elements_text(:seqs)::bigint);

-- name: purge_messages
DELETE FROM messages WHERE seq IN (SELECT json_array_elements_text(:seqs)::bigint);

-- Numbers are not given out again.
-- name: rewind_index
SELECT 1 WHERE false;

-- Whoever splits or sends an entry holds it: nothing of one is left behind.
-- name: lock_outbox_of_session
SELECT 1 FROM outbox WHERE session_id = :session ORDER BY id LIMIT 1000 FOR UPDATE;

-- Of those entries that purge_outbox takes next.
-- name: purge_pieces
-- locks: lock_outbox_of_session
DELETE FROM outbox_pieces WHERE outbox_id IN (
    SELECT id FROM outbox WHERE session_id = :session ORDER BY id LIMIT 1000);

-- name: purge_outbox
DELETE FROM outbox
WHERE id IN (SELECT id FROM outbox WHERE session_id = :session ORDER BY id LIMIT 1000)
RETURNING 1;

-- From the old end, up to the first that is young. Those of a clock that was ahead say nothing: they go
-- with what came after them.
-- name: expire_events
WITH oldest AS MATERIALIZED (
    SELECT seq, at FROM events WHERE seq > 0 AND at <= :now ORDER BY seq LIMIT 2000)
DELETE FROM events
WHERE seq <= (SELECT max(seq) FROM (SELECT seq FROM events WHERE seq > 0 ORDER BY seq LIMIT 2000) AS first)
  AND seq <= (SELECT max(seq) FROM oldest)
  AND seq < coalesce((SELECT min(seq) FROM oldest WHERE at >= :now - :keep), 1::bigint << 62)
RETURNING 1;

-- The server gives back space by itself.
-- name: count_pages
SELECT 0, 0;

-- name: vacuum
SELECT 1 WHERE false;

-- name: describe_database
SELECT current_setting('server_version'), pg_database_size(current_database());
