-- name: blobs_of_session
SELECT b.id, b.media_type, b.size
FROM session_blobs n
    JOIN sessions s ON s.id = n.session_id
    JOIN blobs b ON b.user_id = s.user_id AND b.id = n.blob_id
WHERE n.session_id = :session AND s.user_id = :user AND s.deleted_at IS NULL
ORDER BY b.id;

-- Not stored or named for `keep`, or of a user who was removed, and no session of that user names it any
-- more. One that was named
-- since the others were picked is looked at again. A few at a time: their bytes go with them.
-- name: forget_blobs
DELETE FROM blobs
WHERE (user_id, id) IN (
    SELECT b.user_id, b.id FROM blobs b
    WHERE (b.user_id, b.id) > (:after_user, :after_blob)
      AND (b.user_id, b.id) <= (:end_user, :end_blob)
      AND (b.used_at < :now - :keep OR EXISTS (
        SELECT 1 FROM settings WHERE user_id = '' AND key = 'removed/' || b.user_id))
      AND NOT EXISTS (
        SELECT 1 FROM session_blobs n JOIN sessions s ON s.id = n.session_id
        WHERE n.blob_id = b.id AND s.user_id = b.user_id)
    ORDER BY b.user_id, b.id LIMIT 10)
  AND (used_at < :now - :keep OR EXISTS (
    SELECT 1 FROM settings s WHERE s.user_id = '' AND s.key = 'removed/' || blobs.user_id))
RETURNING user_id, id;

-- Held by whoever puts bytes in place, and by whoever removes those that no row names.
-- name: lock_blob
SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('blob:' || :blob, 0));

-- name: blob_has_bytes
-- locks: lock_blob
SELECT 1 FROM blob_pieces WHERE blob_id = :blob LIMIT 1;

-- name: put_blob_piece
INSERT INTO blob_pieces (blob_id, number, data) VALUES (:blob, :number, :data);

-- name: get_blob_piece
SELECT data FROM blob_pieces WHERE blob_id = :blob AND number = :number;

-- name: drop_blob_pieces
DELETE FROM blob_pieces WHERE blob_id = :blob;
