-- min_version: 9
-- A step of a turn writes four pages in place of seven. What an older Roost would look for in a table of
-- its own stands with the message and with the session, which are written anyway.

-- What the write did that added this message, as in `events`, if it is the last one of that write.
ALTER TABLE messages ADD COLUMN events TEXT;

-- Those of the live history are found from its end. One that leaves it is no longer there.
CREATE TRIGGER messages_leave_events AFTER UPDATE OF gone ON messages
WHEN new.gone IS NOT NULL AND new.events IS NOT NULL
BEGIN
    INSERT INTO events (session_id, revision, body, at)
    VALUES (new.session_id, new.revision, new.events, new.created_at);
    UPDATE messages SET events = NULL WHERE seq = new.seq;
END;

-- Of the turn that runs, or ran last. Its row in `streams` says which attempt left the deltas that it
-- names: they are nobody's any more once the session's is a later one.
ALTER TABLE sessions ADD COLUMN step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;
UPDATE sessions
SET (step, attempt) = (SELECT step, attempt FROM streams WHERE session_id = sessions.id)
WHERE id IN (SELECT session_id FROM streams);

DROP VIEW turn_details;
DROP VIEW turn_rows;

CREATE VIEW turn_rows AS
SELECT s.user_id, t.id, t.session_id, t.state, t.steer, t.route, t.options, t.ephemeral, t.input,
    t.message_id, CASE WHEN r.turn_id IS NULL THEN t.step ELSE s.step END AS step,
    CASE WHEN r.turn_id IS NULL THEN t.attempt ELSE s.attempt END AS attempt, t.reason, t.undone,
    t.created_at, t.started_at, t.ended_at, t.start, t.place
FROM turns t
    CROSS JOIN sessions s ON s.id = t.session_id
    LEFT JOIN streams r ON r.turn_id = t.id
WHERE s.deleted_at IS NULL;

-- The model that answered last in a turn, by what was used for it (usage_by): of several at one
-- moment, the one that came later.
CREATE VIEW turn_details AS
SELECT *, (SELECT provider || '/' || model FROM usage u WHERE u.source = turn_rows.id
           ORDER BY u.at DESC, u.rowid DESC LIMIT 1) AS model
FROM turn_rows;
