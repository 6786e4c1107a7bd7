-- min_version: 1
-- A column that an older Roost leaves as it is, an index, and views of their own.

-- What the session's model was last given and answered, in tokens; 0 is unknown.
ALTER TABLE sessions ADD COLUMN context_tokens INTEGER NOT NULL DEFAULT 0;

-- The names of a user's projects, and how many sessions each has.
CREATE INDEX sessions_by_project ON sessions (user_id, project, parent_kind)
    WHERE project IS NOT NULL AND archived = 0 AND deleted_at IS NULL;

CREATE VIEW session_details AS
SELECT *, (SELECT context_tokens FROM sessions s WHERE s.id = session_rows.id) AS context_tokens
FROM session_rows;

-- The model that answered last in a turn, by what was used for it (usage_by): of several at one
-- moment, the one that came later.
CREATE VIEW turn_details AS
SELECT *, (SELECT provider || '/' || model FROM usage u WHERE u.source = turn_rows.id
           ORDER BY u.at DESC, u.rowid DESC LIMIT 1) AS model
FROM turn_rows;
