-- From the newest match back (the index is walked by rowid), until the page is full.
-- name: search
SELECT m.seq, m.id, s.id, s.title, m.role, m.parts, m.position, m.created_at
FROM search
    CROSS JOIN messages m ON m.seq = search.rowid
    CROSS JOIN sessions s ON s.number = m.session_number
    LEFT JOIN epochs e ON e.session_id = s.id AND e.epoch = m.gone
WHERE search MATCH :match AND search.rowid < :before
  AND s.user_id = :user AND s.deleted_at IS NULL
  AND (m.gone IS NULL OR e.kind = 'compaction')
  AND (:session IS NULL OR s.id = :session)
  AND (:project IS NULL OR s.project = :project)
  AND (:archived IS NULL OR s.archived = :archived)
  AND (:since IS NULL OR m.created_at >= :since)
  AND (:until IS NULL OR m.created_at < :until)
ORDER BY search.rowid DESC LIMIT :limit;

-- name: index_progress
SELECT indexed FROM search_progress;

-- Read are those before which there are less than `bytes`: the length of a text is known
-- without it.
-- name: messages_to_index
WITH sized AS (
    SELECT m.seq, s.user_id, s.id, octet_length(m.parts) AS size
    FROM messages m CROSS JOIN sessions s ON s.number = m.session_number
    WHERE m.seq > :after
    ORDER BY m.seq LIMIT :limit
), placed AS (
    SELECT seq, user_id, id, sum(size) OVER (ORDER BY seq) - size AS above FROM sized
)
SELECT m.seq, p.user_id, p.id, m.role, m.created_at, m.parts
FROM placed p CROSS JOIN messages m ON m.seq = p.seq
WHERE p.above < :bytes
ORDER BY m.seq;

-- name: index_messages
INSERT INTO search (rowid, scope, words)
SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:batch);

-- name: advance_index
UPDATE search_progress SET indexed = :indexed;
