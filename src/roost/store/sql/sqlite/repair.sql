-- After a rescue, rows may name users or sessions that could not be read. They get stand-ins.

-- name: stand_in_users
INSERT INTO users (id, name, role, time_zone, locale, created_at)
SELECT user_id, 'recovered-' || row_number() OVER (ORDER BY user_id),
    CASE WHEN EXISTS (SELECT 1 FROM users WHERE role = 'admin') THEN 'member' ELSE 'admin' END,
    'UTC', 'en', :now
FROM (SELECT DISTINCT user_id FROM sessions WHERE user_id NOT IN (SELECT id FROM users))
RETURNING id;

-- With all of its users lost, a store still has one who can sign in and find what was rescued.
-- name: stand_in_admin
INSERT INTO users (id, name, role, time_zone, locale, created_at)
SELECT 'usr_recovered', 'recovered', 'admin', 'UTC', 'en', :now
WHERE NOT EXISTS (SELECT 1 FROM users WHERE role = 'admin')
RETURNING id;

-- name: stand_in_sessions
INSERT INTO sessions (id, user_id, origin, title, title_by, revision, created_at, active_at)
SELECT lost.session_id, (SELECT id FROM users ORDER BY role, created_at LIMIT 1), 'repair',
    'Recovered session', 'model', lost.revision, lost.first, lost.last
FROM (SELECT session_id, max(revision) AS revision, min(created_at) AS first,
        max(created_at) AS last
    FROM messages WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id) lost
RETURNING id;

-- name: recount_all
UPDATE sessions
SET messages = (SELECT count(*) FROM messages WHERE session_id = sessions.id AND gone IS NULL),
    turns = (SELECT count(*) FROM turns WHERE session_id = sessions.id AND start IS NOT NULL
             AND undone IS NULL),
    head = max(head, coalesce((SELECT max(position) FROM messages WHERE session_id = sessions.id), 0)),
    epoch = max(epoch, coalesce((SELECT max(epoch) FROM epochs WHERE session_id = sessions.id), 0)),
    revision = max(revision,
        coalesce((SELECT max(revision) FROM events WHERE session_id = sessions.id), 0)),
    (input_tokens, output_tokens, cost, unpriced) = (
        SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),
            coalesce(sum(cost), 0), coalesce(sum(unpriced), 0)
        FROM usage WHERE session_id = sessions.id);

-- name: index_anew
UPDATE search_progress SET indexed = 0;
