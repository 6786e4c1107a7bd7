-- The routes on which something waits, by their names: from one to the next (inbox_open), however
-- much waits on each.
-- name: waiting_routes
WITH RECURSIVE heads (route) AS (
    SELECT min(route) FROM inbox
    WHERE channel = :channel AND handled_at IS NULL AND route > :after
    UNION ALL
    SELECT (SELECT min(i.route) FROM inbox i
            WHERE i.channel = :channel AND i.handled_at IS NULL AND i.route > heads.route)
    FROM heads WHERE heads.route IS NOT NULL
    LIMIT :limit
)
SELECT route FROM heads WHERE route IS NOT NULL;

-- The turn that a message became (inbox_messages). The planner takes the order for worth more, and
-- walks all that ever came on the channel.
-- name: turn_of_message
SELECT turn_id FROM inbox INDEXED BY inbox_messages
WHERE channel = :channel AND route = :route AND message_id = :message AND turn_id IS NOT NULL
ORDER BY arrival DESC LIMIT 1;
