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
