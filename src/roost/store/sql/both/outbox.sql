-- name: pieces_of
-- locks: lock_entry
SELECT number, body, external_id FROM outbox_pieces WHERE outbox_id = :id ORDER BY number;

-- name: insert_piece
INSERT INTO outbox_pieces (outbox_id, number, body) VALUES (:id, :number, :body);

-- name: piece_sent
-- locks: lock_entry
UPDATE outbox_pieces SET external_id = :external, sent_at = :now
WHERE outbox_id = :id AND number = :number AND sent_at IS NULL;

-- Once none of its pieces is left.
-- name: outbox_sent
UPDATE outbox SET state = 'sent', external_id = :external, sent_at = :now, error = NULL
WHERE id = :id AND state = 'pending'
  AND NOT EXISTS (SELECT 1 FROM outbox_pieces p WHERE p.outbox_id = :id AND p.sent_at IS NULL);

-- name: put_off
UPDATE outbox SET due_at = :now + :wait, tries = tries + :counts, error = :error
WHERE id = :id AND state = 'pending';

-- name: outbox_failed
UPDATE outbox SET state = 'failed', tries = tries + 1, error = :error
WHERE id = :id AND state = 'pending';

-- At the end of its route, where its order is not a lie.
-- name: outbox_again
UPDATE outbox
SET state = 'pending', due_at = :now, tries = 0, error = NULL, created_at = :now,
    ordinal = (SELECT max(o.ordinal) FROM outbox o WHERE o.route = outbox.route) + 1
WHERE id = :id AND state = 'failed'
RETURNING id;

-- name: drop_undelivered
DELETE FROM outbox WHERE id = :id AND state = 'failed' RETURNING id;

-- name: drop_pieces
DELETE FROM outbox_pieces WHERE outbox_id = :id;

-- `user` empty is everyone.
-- name: undelivered
SELECT id, user_id, route, session_id, turn_id, body, state, tries, 0, error, created_at,
    :now - created_at
FROM outbox WHERE state = 'failed' AND (:user IS NULL OR user_id = :user)
ORDER BY created_at DESC LIMIT :limit;

-- name: show_progress
INSERT INTO progress (turn_id, route, external_id, shown_at)
VALUES (:turn, :route, :external, :now)
ON CONFLICT (turn_id, route) DO UPDATE SET external_id = excluded.external_id;

-- name: progress_of
SELECT external_id FROM progress WHERE turn_id = :turn AND route = :route;

-- name: progress_over
DELETE FROM progress WHERE turn_id = :turn AND route = :route;

-- name: expire_pieces
DELETE FROM outbox_pieces WHERE outbox_id IN (
    SELECT id FROM outbox WHERE state = 'sent' AND sent_at < :now - :keep LIMIT 1000);

-- name: expire_progress
DELETE FROM progress WHERE shown_at < :now - :keep;
