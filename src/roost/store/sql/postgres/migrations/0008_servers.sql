-- min_version: 7
-- A column that an older Roost leaves as it is: it works on any session, wherever that has its files.

-- The server that has the session's workspace; empty if none has one.
ALTER TABLE sessions ADD COLUMN workspace_at TEXT COLLATE "C";
