-- name: size_of_blobs
SELECT coalesce(sum(size), 0) FROM blobs WHERE user_id = :user;

-- By blobs_id.
-- name: unstored_blobs
SELECT value FROM json_each(:names)
WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE id = value);

-- name: blobs_of_session
SELECT b.id, b.media_type, b.size
FROM session_blobs n
    CROSS JOIN sessions s ON s.id = n.session_id
    CROSS JOIN blobs b ON b.user_id = s.user_id AND b.id = n.blob_id
WHERE n.session_id = :session AND s.user_id = :user AND s.deleted_at IS NULL
ORDER BY b.id;

-- Not stored or named for `keep`, and no session of that user names it any more.
-- name: forget_blobs
DELETE FROM blobs
WHERE (user_id, id) IN (
    SELECT b.user_id, b.id FROM blobs b
    WHERE (b.user_id, b.id) > (:after_user, :after_blob)
      AND (b.user_id, b.id) <= (:end_user, :end_blob)
      AND b.used_at < :now - :keep AND NOT EXISTS (
        SELECT 1 FROM session_blobs n JOIN sessions s ON s.id = n.session_id
        WHERE n.blob_id = b.id AND s.user_id = b.user_id)
    ORDER BY b.user_id, b.id LIMIT 200)
RETURNING user_id, id;
