-- A fact that changed since its text was read gets none: that would be another's.
-- name: put_vector
INSERT INTO search_vectors (seq, model, vector)
SELECT f.seq, :model, :vector
FROM facts f
WHERE f.seq = :seq AND f.user_id = :user AND f.scope = :scope AND f.text = :text
  AND f.superseded_by IS NULL AND f.forgotten_at IS NULL
ON CONFLICT (seq) DO UPDATE SET model = excluded.model, vector = excluded.vector
RETURNING seq;

-- name: page_of_vectors
SELECT f.seq, v.vector
FROM facts f CROSS JOIN search_vectors v ON v.seq = f.seq
WHERE f.user_id = :user AND f.scope = :scope AND f.superseded_by IS NULL AND f.forgotten_at IS NULL
  AND f.seq < :before AND v.model = :model
ORDER BY f.seq DESC LIMIT :limit;

-- name: live_facts_numbered
SELECT f.* FROM json_each(:seqs) j CROSS JOIN fact_rows f ON f.seq = j.value
WHERE f.user_id = :user AND f.scope = :scope AND f.superseded_by IS NULL AND f.forgotten_at IS NULL;
