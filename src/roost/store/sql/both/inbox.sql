-- name: put_inbox
-- locks: lock_inbox
INSERT INTO inbox (channel, external_id, message_id, arrival, route, body, received_at)
VALUES (:channel, :id, :message,
    coalesce((SELECT max(arrival) FROM inbox WHERE channel = :channel), 0) + 1,
    :route, :body, :now)
ON CONFLICT (channel, external_id) DO NOTHING
RETURNING 1;

-- name: put_cursor
INSERT INTO channel_cursors (channel, name, value) VALUES (:channel, :name, :value)
ON CONFLICT (channel, name) DO UPDATE SET value = excluded.value;

-- name: cursors_of
SELECT name, value FROM channel_cursors WHERE channel = :channel;

-- name: next_of_route
SELECT route, external_id, body, plan, received_at FROM inbox
WHERE channel = :channel AND route = :route AND handled_at IS NULL
ORDER BY arrival LIMIT 1;

-- name: plan_inbox
UPDATE inbox SET plan = :plan WHERE channel = :channel AND external_id = :id AND plan IS NULL;

-- name: handled_inbox
UPDATE inbox SET handled_at = :now, turn_id = :turn, body = NULL
WHERE channel = :channel AND external_id = :id AND handled_at IS NULL
RETURNING 1;

-- Every route has a name: without that, SQLite walks all that came on the channel and was handled
-- (inbox_open).
-- name: count_inbox
SELECT count(*) FROM inbox WHERE channel = :channel AND handled_at IS NULL AND route > '';
