-- name: sessions_to_search
SELECT id FROM sessions
WHERE user_id = :user AND deleted_at IS NULL
  AND (:project IS NULL OR project = :project)
  AND (:archived IS NULL OR archived = :archived)
LIMIT :limit;
