-- min_version: 11
-- Messages name their session by a short number. Their index by session has pages of each session that is
-- written to, and with its id of thirty characters in every entry those were most of what a commit wrote.

ALTER TABLE sessions ADD COLUMN number INTEGER;
UPDATE sessions SET number = rowid;
CREATE UNIQUE INDEX sessions_number ON sessions (number);

CREATE TRIGGER sessions_get_numbers AFTER INSERT ON sessions WHEN new.number IS NULL
BEGIN
    UPDATE sessions SET number = (SELECT coalesce(max(number), 0) + 1 FROM sessions)
    WHERE id = new.id;
END;

CREATE TABLE numbered_messages (
    seq            INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    session_number INTEGER NOT NULL REFERENCES sessions (number),
    position       INTEGER NOT NULL,
    revision       INTEGER NOT NULL,
    born           INTEGER NOT NULL,
    gone           INTEGER,
    turn_id        TEXT,
    role           TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'note')),
    partial        INTEGER NOT NULL DEFAULT 0,
    pinned         INTEGER NOT NULL DEFAULT 0, -- kept by compactions
    parts          TEXT NOT NULL,            -- JSON
    created_at     INTEGER NOT NULL,
    events         TEXT                      -- JSON, as in `events`: what the write did that ends with it
) STRICT;
INSERT INTO numbered_messages (seq, id, session_number, position, revision, born, gone, turn_id, role,
    partial, pinned, parts, created_at, events)
SELECT m.seq, m.id, s.number, m.position, m.revision, m.born, m.gone, m.turn_id, m.role,
    m.partial, m.pinned, m.parts, m.created_at, m.events
FROM messages m CROSS JOIN sessions s ON s.id = m.session_id
ORDER BY m.seq;
DROP TABLE messages;
ALTER TABLE numbered_messages RENAME TO messages;
CREATE INDEX messages_of ON messages (session_number, gone, position);

-- What happened in the live history is found from its end. A message that leaves it is no longer there.
CREATE TRIGGER messages_leave_events AFTER UPDATE OF gone ON messages
WHEN new.gone IS NOT NULL AND new.events IS NOT NULL
BEGIN
    INSERT INTO events (session_id, revision, body, at)
    SELECT id, new.revision, new.events, new.created_at FROM sessions WHERE number = new.session_number;
    UPDATE messages SET events = NULL WHERE seq = new.seq;
END;

-- Messages as they are read.
CREATE VIEW message_rows AS
SELECT m.seq, m.id, s.id AS session_id, m.position, m.revision, m.born, m.gone, m.turn_id, m.role,
    m.partial, m.pinned, m.parts, m.created_at, m.events
FROM messages m JOIN sessions s ON s.number = m.session_number;
