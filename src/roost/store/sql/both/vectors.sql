-- Live facts without a vector of this model, newest first (facts_live).
-- name: facts_without_vector
SELECT f.seq, f.text
FROM facts f
WHERE f.user_id = :user AND f.scope = :scope AND f.superseded_by IS NULL AND f.forgotten_at IS NULL
  AND f.seq < :before
  AND NOT EXISTS (SELECT 1 FROM search_vectors v WHERE v.seq = f.seq AND v.model = :model)
ORDER BY f.seq DESC LIMIT :limit;
