-- What a user's files take together is looked at before the commit.
-- name: put_blob
-- locks: lock_user
INSERT INTO blobs (user_id, id, media_type, size, used_at)
VALUES (:user, :blob, :media_type, :size, :now)
ON CONFLICT (user_id, id) DO UPDATE SET used_at = excluded.used_at;

-- name: size_of_blobs
SELECT coalesce((SELECT bytes FROM blob_totals WHERE user_id = :user), 0);

-- name: get_blob
SELECT id, media_type, size FROM blobs WHERE user_id = :user AND id = :blob AND used_at >= 0;

-- name: touch_blob
UPDATE blobs SET used_at = :now WHERE user_id = :user AND id = :blob AND used_at >= 0 RETURNING 1;

-- name: name_blob
INSERT INTO session_blobs (session_id, blob_id) VALUES (:session, :blob) ON CONFLICT DO NOTHING;

-- name: blob_is_stored
-- locks: lock_blob
SELECT 1 FROM blobs WHERE id = :blob AND used_at >= 0 LIMIT 1;

-- name: end_of_blob_window
SELECT user_id, id FROM (
    SELECT user_id, id FROM blobs WHERE (user_id, id) > (:after_user, :after_blob)
    ORDER BY user_id, id LIMIT 1000) AS found
ORDER BY user_id DESC, id DESC LIMIT 1;
