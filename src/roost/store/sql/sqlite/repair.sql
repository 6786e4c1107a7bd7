-- After a rescue, rows may name others that could not be read. What can be told is put back, the rest
-- gets stand-ins.

-- The first of them is the likeliest to have set this Roost up.
-- name: stand_in_users
INSERT INTO users (id, name, role, time_zone, locale, created_at)
SELECT lost.user_id, 'recovered-' || lost.number,
    CASE WHEN lost.number = 1 AND NOT EXISTS (SELECT 1 FROM users WHERE role = 'admin')
        THEN 'admin' ELSE 'member' END,
    'UTC', 'en', :now
FROM (SELECT user_id, row_number() OVER (ORDER BY user_id) AS number
    FROM (SELECT DISTINCT user_id FROM sessions WHERE user_id NOT IN (SELECT id FROM users))) lost
RETURNING id;

-- With all of its users lost, a store still has one who can sign in and find what was rescued.
-- name: stand_in_admin
INSERT INTO users (id, name, role, time_zone, locale, created_at)
SELECT 'usr_recovered', 'recovered', 'admin', 'UTC', 'en', :now
WHERE NOT EXISTS (SELECT 1 FROM users WHERE role = 'admin')
RETURNING id;

-- Its messages know its number only, and their turns its id. Whose it was may still stand with its usage.
-- Those without a number come last, and get the next ones.
-- name: stand_in_sessions
WITH named (number, id, created_at) AS (
    SELECT m.session_number,
        coalesce(min(t.session_id) OVER (PARTITION BY m.session_number), 'ses_recovered_' || m.session_number),
        m.created_at
    FROM messages m LEFT JOIN turns t ON t.id = m.turn_id
    WHERE m.session_number NOT IN (SELECT number FROM sessions)
    UNION ALL
    SELECT NULL, session_id, created_at FROM turns WHERE session_id NOT IN (SELECT id FROM sessions)
)
INSERT OR IGNORE INTO sessions (id, number, user_id, origin, title, title_by, created_at, active_at)
SELECT lost.id, lost.number,
    coalesce(
        (SELECT u.user_id FROM usage u
         WHERE u.session_id = lost.id AND u.user_id IN (SELECT id FROM users)),
        (SELECT id FROM users ORDER BY role, created_at LIMIT 1)),
    'repair', 'Recovered session', 'model', lost.first, lost.last
FROM (SELECT id, max(number) AS number, min(created_at) AS first, max(created_at) AS last
    FROM named GROUP BY id) lost
ORDER BY lost.number IS NULL
RETURNING id;

-- name: forget_lost_messages
UPDATE turns SET message_id = NULL
WHERE message_id IS NOT NULL AND message_id NOT IN (SELECT id FROM messages)
RETURNING id;

-- Where a turn that runs stands: what its session says may be lost, or not there yet (before version 9). What
-- happened tells it too. Its stream alone does not: that may be an attempt's which is long over.
-- name: find_attempts
WITH told (session_id, body) AS (
    SELECT session_id, body FROM events
    UNION ALL
    SELECT session_id, events FROM message_rows WHERE events IS NOT NULL
),
begun (session_id, step, attempt) AS (
    SELECT session_id, step, attempt FROM streams
    UNION ALL
    SELECT r.session_id, e.value ->> 'step', e.value ->> 'attempt'
    FROM streams r JOIN told t ON t.session_id = r.session_id, json_each(t.body) e
    WHERE CASE e.type WHEN 'object'
        THEN e.value ->> 'kind' = 'attempt' AND e.value ->> 'turn' = r.turn_id END
)
UPDATE sessions SET step = max(sessions.step, latest.step), attempt = max(sessions.attempt, latest.attempt)
FROM (SELECT session_id, max(step) AS step, max(attempt) AS attempt FROM begun GROUP BY session_id) latest
WHERE latest.session_id = sessions.id;

-- They are nobody's: most are swept, and their numbers may be another turn's by now.
-- name: forget_old_deltas
UPDATE streams SET attempt = s.attempt, last_seq = 0, first_delta = NULL, last_delta = NULL
FROM sessions s WHERE s.id = streams.session_id AND s.attempt <> streams.attempt;

-- name: forget_lost_deltas
UPDATE streams SET last_seq = 0, first_delta = NULL, last_delta = NULL
WHERE last_delta IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM deltas d WHERE d.id = last_delta AND d.turn_id = streams.turn_id)
RETURNING turn_id;

-- Of an import that is not complete, whoever goes on with it counts the messages.
-- name: sessions_to_pair
SELECT id, user_id FROM sessions WHERE deleted_at IS NULL ORDER BY number;

-- Those that a turn has yet to answer.
-- name: calls_under_way
SELECT c.id FROM tool_calls c JOIN turns t ON t.id = c.turn_id
WHERE c.session_id = :session AND t.state IN ('running', 'waiting')
  AND (c.state IN ('requested', 'waiting', 'running') OR c.result IS NOT NULL);

-- All that an epoch took out of the history may be lost, or what is known of the epoch.
-- name: rewrites_to_pair
SELECT epoch FROM epochs WHERE session_id = :session
UNION
SELECT gone FROM message_rows WHERE session_id = :session AND gone IS NOT NULL
ORDER BY epoch DESC;

-- The history that an epoch rewrote.
-- name: messages_before
SELECT id, role, parts, turn_id, partial, position, born, gone, created_at, pinned
FROM message_rows
WHERE session_id = :session AND born < :epoch AND coalesce(gone, :epoch) >= :epoch
ORDER BY position, born;

-- name: insert_stand_in
INSERT INTO messages (id, session_number, position, revision, born, gone, turn_id, role, parts, created_at)
VALUES (:message, (SELECT number FROM sessions WHERE id = :session), :position, :revision, :born, :gone,
    :turn, :role, :parts, :now);

-- name: end_calls
UPDATE tool_calls
SET state = CASE WHEN state = 'running' THEN 'unknown' WHEN state IN ('requested', 'waiting') THEN 'cancelled'
        ELSE state END,
    result = NULL, ended_at = coalesce(ended_at, :now)
WHERE session_id = :session AND id IN (SELECT value FROM json_each(:ids));

-- name: void_approvals_of
UPDATE approvals SET state = 'void'
WHERE session_id = :session AND call_id IN (SELECT value FROM json_each(:ids)) AND state = 'pending';

-- name: rewrite_message
UPDATE messages SET role = :role, parts = :parts WHERE id = :message;

-- An older memory is better than none.
-- name: revive_superseded
UPDATE facts SET superseded_by = NULL
WHERE superseded_by IS NOT NULL AND superseded_by NOT IN (SELECT id FROM facts)
RETURNING id;

-- Else what a message still names would be taken for unused.
-- name: name_blobs_again
INSERT INTO session_blobs (session_id, blob_id)
SELECT DISTINCT m.session_id, part.value
FROM message_rows m, json_tree(CASE WHEN json_valid(m.parts) THEN m.parts ELSE '[]' END) part
WHERE part.key = 'blob' AND part.type = 'text'
UNION
SELECT DISTINCT t.session_id, part.value
FROM turns t, json_tree(CASE WHEN json_valid(t.input) THEN t.input ELSE '[]' END) part
WHERE part.key = 'blob' AND part.type = 'text'
ON CONFLICT DO NOTHING
RETURNING blob_id;

-- name: lost_blobs
SELECT DISTINCT s.user_id, n.blob_id
FROM session_blobs n JOIN sessions s ON s.id = n.session_id
WHERE NOT EXISTS (SELECT 1 FROM blobs b WHERE b.user_id = s.user_id AND b.id = n.blob_id);

-- name: recount_all
UPDATE sessions
SET messages = (SELECT count(*) FROM messages WHERE session_number = sessions.number AND gone IS NULL),
    turns = (SELECT count(*) FROM turns WHERE session_id = sessions.id AND start IS NOT NULL
             AND undone IS NULL),
    head = max(head, coalesce((SELECT max(position) FROM messages WHERE session_number = sessions.number), 0)),
    epoch = max(epoch,
        coalesce((SELECT max(epoch) FROM epochs WHERE session_id = sessions.id), 0),
        coalesce((SELECT max(max(born), max(coalesce(gone, 0))) FROM messages
                  WHERE session_number = sessions.number), 0),
        coalesce((SELECT max(undone) FROM turns WHERE session_id = sessions.id), 0)),
    revision = max(revision, 1,
        coalesce((SELECT max(revision) FROM events WHERE session_id = sessions.id), 0),
        coalesce((SELECT max(revision) FROM epochs WHERE session_id = sessions.id), 0),
        coalesce((SELECT max(revision) FROM messages WHERE session_number = sessions.number), 0)),
    token = max(token,
        coalesce((SELECT token FROM leases WHERE name = 'session:' || sessions.id), 0)),
    (input_tokens, output_tokens, cost, unpriced) = (
        SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),
            coalesce(sum(cost), 0), coalesce(sum(unpriced), 0)
        FROM usage WHERE session_id = sessions.id AND user_id = sessions.user_id);
