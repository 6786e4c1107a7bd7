-- Deltas that no stream reaches back to, from the old end.
-- name: sweep_deltas
DELETE FROM deltas
WHERE id < coalesce((SELECT min(r.first_delta) FROM streams r CROSS JOIN sessions s ON s.id = r.session_id
                    WHERE r.attempt = s.attempt), 1 << 62)
  AND id <= (SELECT min(id) FROM deltas) + 2000
RETURNING 1;

-- A round through all deltas, a window at a time: one long stream keeps only its own.
-- name: end_of_window
SELECT coalesce(max(id), :until)
FROM (SELECT id FROM deltas WHERE id > :after AND id <= :until ORDER BY id LIMIT :window);

-- name: sweep_window
DELETE FROM deltas
WHERE id > :after AND id <= :end
  AND id < coalesce(
    (SELECT r.first_delta FROM streams r CROSS JOIN sessions s ON s.id = r.session_id
     WHERE r.turn_id = deltas.turn_id AND r.attempt = s.attempt), 1 << 62);

-- name: session_to_purge
SELECT id FROM sessions WHERE deleted_at < :now - 60000 ORDER BY deleted_at LIMIT 1;

-- Of those entries that purge_outbox takes next (outbox_of): sorted by id they would all be read each time.
-- name: purge_pieces
DELETE FROM outbox_pieces
WHERE outbox_id IN (SELECT id FROM outbox WHERE session_id = :session ORDER BY rowid LIMIT 1000);

-- name: purge_outbox
DELETE FROM outbox
WHERE rowid IN (SELECT rowid FROM outbox WHERE session_id = :session ORDER BY rowid LIMIT 1000)
RETURNING 1;

-- name: purge_index
DELETE FROM search WHERE rowid IN (SELECT value FROM json_each(:seqs));

-- name: purge_messages
DELETE FROM messages WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: rewind_index
UPDATE search_progress SET indexed = min(indexed, coalesce((SELECT max(seq) FROM messages), 0));

-- From the old end, up to the first that is young. Those of a clock that was ahead say nothing: they go
-- with what came after them.
-- name: expire_events
WITH oldest AS MATERIALIZED (
    SELECT seq, at FROM events WHERE seq > 0 AND at <= :now ORDER BY seq LIMIT 2000)
DELETE FROM events
WHERE seq <= (SELECT max(seq) FROM (SELECT seq FROM events WHERE seq > 0 ORDER BY seq LIMIT 2000) AS first)
  AND seq <= (SELECT max(seq) FROM oldest)
  AND seq < coalesce((SELECT min(seq) FROM oldest WHERE at >= :now - :keep), 1 << 62)
RETURNING 1;

-- name: count_pages
SELECT f.freelist_count, p.page_count FROM pragma_freelist_count f, pragma_page_count p;

-- name: vacuum
PRAGMA incremental_vacuum(1000);
