-- name: blobs_of_session
SELECT b.id, b.media_type, b.size
FROM session_blobs n
    CROSS JOIN sessions s ON s.id = n.session_id
    CROSS JOIN blobs b ON b.user_id = s.user_id AND b.id = n.blob_id
WHERE n.session_id = :session AND s.user_id = :user AND s.deleted_at IS NULL
ORDER BY b.id;

-- Not stored or named for `keep`, or of a user who was removed, and no session of that user names it any
-- more. The row stays until the file is gone, and is none meanwhile: only who stores the same bytes again
-- makes it one.
-- name: forget_blobs
UPDATE blobs SET used_at = -1
WHERE (user_id, id) IN (
    SELECT b.user_id, b.id FROM blobs b
    WHERE (b.user_id, b.id) > (:after_user, :after_blob)
      AND (b.user_id, b.id) <= (:end_user, :end_blob)
      AND (b.used_at < :now - :keep OR EXISTS (
        SELECT 1 FROM settings WHERE user_id = '' AND key = 'removed/' || b.user_id))
      AND NOT EXISTS (
        SELECT 1 FROM session_blobs n JOIN sessions s ON s.id = n.session_id
        WHERE n.blob_id = b.id AND s.user_id = b.user_id)
    ORDER BY b.user_id, b.id LIMIT 200)
RETURNING user_id, id;

-- name: drop_blobs
DELETE FROM blobs
WHERE used_at < 0 AND (user_id, id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:blobs));
