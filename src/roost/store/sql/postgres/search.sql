-- The words of the filter are among those of the index, so that few rows are looked at.
-- name: search
SELECT m.seq, m.id, m.session_id, s.title, m.role, m.parts, m.position, m.created_at
FROM search v
    JOIN messages m ON m.seq = v.seq
    JOIN sessions s ON s.id = m.session_id
    LEFT JOIN epochs e ON e.session_id = m.session_id AND e.epoch = m.gone
WHERE v.vector @@ :tsquery::text::tsquery AND v.seq < :before
  AND s.user_id = :user AND s.deleted_at IS NULL
  AND (m.gone IS NULL OR e.kind = 'compaction')
  AND (:session IS NULL OR m.session_id = :session)
  AND (:project IS NULL OR s.project = :project)
  AND (:archived IS NULL OR s.archived = :archived)
  AND (:since IS NULL OR m.created_at >= :since)
  AND (:until IS NULL OR m.created_at < :until)
ORDER BY v.seq DESC LIMIT :limit;

-- What is to be indexed stands in a queue, here and below: there is no number to begin after.
-- name: index_progress
SELECT 0::bigint;

-- Those that another server is just indexing are left to it. The few are picked and locked first, so
-- that what is read of the messages does not depend on how a join with a long queue is planned. Read are
-- those before which there are less than `bytes`.
-- name: messages_to_index
WITH picked AS (
    SELECT seq FROM search_queue WHERE seq > :after ORDER BY seq LIMIT :limit FOR UPDATE SKIP LOCKED
), placed AS (
    SELECT seq, sum(octet_length(parts)) OVER (ORDER BY seq) - octet_length(parts) AS above
    FROM picked JOIN messages USING (seq)
)
SELECT m.seq, s.user_id, m.session_id, m.role, m.created_at, m.parts
FROM placed p JOIN messages m ON m.seq = p.seq JOIN sessions s ON s.id = m.session_id
WHERE p.above < :bytes
ORDER BY m.seq;

-- name: index_messages
WITH indexed AS (
    INSERT INTO search (seq, vector)
    SELECT (value ->> 0)::bigint, (value ->> 1)::tsvector FROM json_array_elements(:vectors) value
    ON CONFLICT (seq) DO UPDATE SET vector = excluded.vector
    RETURNING seq)
DELETE FROM search_queue WHERE seq IN (SELECT seq FROM indexed);

-- name: advance_index
SELECT :indexed;
