-- `events` are what the write did, on the last of its messages.
-- name: insert_message
INSERT INTO messages (id, session_number, position, revision, born, turn_id, role, partial, parts,
    created_at, events)
VALUES (:message, (SELECT number FROM sessions WHERE id = :session), :position, :revision, :epoch, :turn,
    :role, :partial, :parts, :now, :events);

-- What was written at the end of the live history after a revision has a place after what was there
-- before (messages_of). What has left the history since, and what came without a message, has rows.
-- name: events_since
SELECT revision, created_at, events FROM message_rows
WHERE session_id = :session AND gone IS NULL AND revision > :revision AND events IS NOT NULL
  AND position > coalesce((SELECT position FROM message_rows
                           WHERE session_id = :session AND gone IS NULL AND revision <= :revision
                           ORDER BY position DESC LIMIT 1), -1)
UNION ALL
SELECT revision, at, body FROM events
WHERE session_id = :session AND revision > :revision
ORDER BY revision;

-- name: find_message
SELECT m.position, m.revision, m.born, m.gone, s.id
FROM messages m CROSS JOIN sessions s ON s.number = m.session_number
WHERE m.id = :message AND s.user_id = :user;

-- About a place, with what a compaction replaced there; what was undone or cleared is not read.
-- name: messages_around
SELECT m.id, m.role, m.parts, m.turn_id, m.partial, m.position, m.born, m.gone, m.created_at, m.pinned
FROM message_rows m LEFT JOIN epochs e ON e.session_id = m.session_id AND e.epoch = m.gone
WHERE m.session_id = :session AND m.position BETWEEN :first AND :last
  AND (m.gone IS NULL OR e.kind = 'compaction')
ORDER BY m.position, m.born LIMIT :limit;

-- By their ids: the plus keeps the planner from walking the whole history.
-- name: messages_by_id
SELECT id, role, parts, turn_id, partial, position, born, gone, created_at, pinned
FROM message_rows
WHERE id IN (SELECT value FROM json_each(:ids)) AND +session_id = :session
ORDER BY seq;

-- name: list_epochs
SELECT e.epoch, e.kind, e.revision, e.detail, e.created_at
FROM epochs e CROSS JOIN sessions s ON s.id = e.session_id
WHERE e.session_id = :session AND s.user_id = :user AND s.deleted_at IS NULL
ORDER BY e.epoch;

-- name: retire_messages
UPDATE messages SET gone = :epoch
WHERE id IN (SELECT value FROM json_each(:ids))
  AND session_number = (SELECT number FROM sessions WHERE id = :session) AND gone IS NULL
RETURNING id, position;

-- The latest compaction that is still in force: not restored, and what it wrote not gone since.
-- name: open_compaction
SELECT e.epoch, e.kind, e.revision, e.detail, e.created_at FROM epochs e
WHERE e.session_id = :session AND e.kind = 'compaction' AND e.epoch NOT IN (
    SELECT detail ->> 'restores' FROM epochs
    WHERE session_id = :session AND kind = 'restore' AND detail ->> 'restores' IS NOT NULL)
  AND (e.epoch = :epoch OR EXISTS (
    SELECT 1 FROM message_rows m
    WHERE m.session_id = :session AND m.gone IS NULL AND m.revision = e.revision))
ORDER BY e.epoch DESC LIMIT 1;

-- A branch: `messages` and `turns` are JSON lists of what is copied, each with its new id.
-- name: copy_messages
INSERT INTO messages (id, session_number, position, revision, born, turn_id, role, partial, pinned,
    parts, created_at)
SELECT j.value ->> 1, (SELECT number FROM sessions WHERE id = :branch), m.position, 1, 0, j.value ->> 2,
    m.role, m.partial, m.pinned, m.parts, m.created_at
FROM json_each(:messages) j CROSS JOIN messages m ON m.id = j.value ->> 0
ORDER BY m.position;

-- None of them goes on by itself.
-- name: copy_turns
INSERT INTO turns (id, session_id, state, place, steer, route, options, ephemeral, fingerprint, input,
    message_id, start, step, attempt, continued, reason, created_at, started_at, ended_at)
SELECT j.value ->> 6, :branch, j.value ->> 0, t.place, t.steer, t.route, t.options, t.ephemeral,
    t.fingerprint, t.input, j.value ->> 7, t.start, j.value ->> 1, j.value ->> 2, max(t.continued, 1),
    j.value ->> 3, t.created_at, t.started_at, j.value ->> 4
FROM json_each(:turns) j CROSS JOIN turns t ON t.id = j.value ->> 5;

-- Those that the copied messages ask for.
-- name: copy_tool_calls
INSERT INTO tool_calls (session_id, id, turn_id, ordinal, name, arguments, state, result, started_at,
    ended_at)
SELECT :branch, c.id, j.value ->> 2, c.ordinal, c.name, c.arguments,
    CASE WHEN c.state IN ('requested', 'waiting', 'running') THEN 'cancelled' ELSE c.state END,
    c.result, c.started_at, c.ended_at
FROM json_each(:messages) j
    CROSS JOIN messages m ON m.id = j.value ->> 0
    CROSS JOIN json_each(m.parts) part
    CROSS JOIN tool_calls c ON c.session_id = :session AND c.id = part.value ->> 'call'
WHERE part.value ->> 'kind' = 'tool_call' AND j.value ->> 2 IS NOT NULL
ON CONFLICT DO NOTHING;

-- Up to a place, in the order in which they were asked for.
-- name: calls_without_results
SELECT part.value ->> 'call', m.turn_id
FROM message_rows m CROSS JOIN json_each(m.parts) part
WHERE m.session_id = :session AND m.gone IS NULL AND m.position <= :end
  AND part.value ->> 'kind' = 'tool_call' AND part.value ->> 'call' NOT IN (
    SELECT result.value ->> 'call'
    FROM message_rows r CROSS JOIN json_each(r.parts) result
    WHERE r.session_id = :session AND r.gone IS NULL AND r.position <= :end
      AND result.value ->> 'kind' = 'tool_result')
ORDER BY m.position, part.key;

-- name: cancel_tool_calls
UPDATE tool_calls SET state = 'cancelled', result = NULL, ended_at = coalesce(ended_at, :now)
WHERE session_id = :session AND id IN (SELECT value FROM json_each(:ids));

-- What someone pinned after a compaction was planned.
-- name: pinned_among
SELECT m.id FROM json_each(:ids) j CROSS JOIN message_rows m ON m.id = j.value
WHERE m.session_id = :session AND m.pinned LIMIT 1;
