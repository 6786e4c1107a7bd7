-- Where deliveries come at once, one after the other finds its place.
-- name: lock_inbox
SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('inbox:' || :channel, 0));

-- The routes on which something waits, by their names: from one to the next (inbox_open), however
-- much waits on each.
-- name: waiting_routes
WITH RECURSIVE heads (route) AS (
    SELECT min(route) FROM inbox
    WHERE channel = :channel AND handled_at IS NULL AND route > :after::text
    UNION ALL
    SELECT (SELECT min(i.route) FROM inbox i
            WHERE i.channel = :channel AND i.handled_at IS NULL AND i.route > heads.route)
    FROM heads WHERE heads.route IS NOT NULL
)
SELECT route FROM (SELECT route FROM heads LIMIT :limit) heads
WHERE route IS NOT NULL
ORDER BY route;

-- The turn that a message became (inbox_messages).
-- name: turn_of_message
SELECT turn_id FROM inbox
WHERE channel = :channel AND route = :route AND message_id = :message AND turn_id IS NOT NULL
ORDER BY arrival DESC LIMIT 1;
