-- min_version: 1
-- A column that an older Roost leaves as it is.

-- The server that has the session's workspace; empty where there is only one.
ALTER TABLE sessions ADD COLUMN workspace_at TEXT;
