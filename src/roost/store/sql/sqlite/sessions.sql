-- The fence and the order of all writes to a session: one row, raised once per write, with room made
-- for the messages it adds, unless they were added before. A writer that needs no lease passes no
-- token.
-- name: raise_revision
UPDATE sessions
SET revision = revision + 1,
    head = head + :adds,
    messages = messages + :adds,
    answered = CASE WHEN :answers THEN revision + 1 ELSE answered END,
    step = coalesce(:step, step),
    attempt = coalesce(:attempt, attempt)
WHERE id = :session AND user_id = :user AND deleted_at IS NULL
  AND (:token IS NULL OR token = :token)
  AND NOT EXISTS (SELECT 1 FROM messages WHERE id = :last)
RETURNING revision, epoch, head - :adds, :now - active_at;

-- The same for the turn that runs, whose next attempt begins, of the same step or of the next.
-- name: raise_attempt
UPDATE sessions
SET revision = revision + 1,
    head = head + :adds,
    messages = messages + :adds,
    answered = CASE WHEN :answers THEN revision + 1 ELSE answered END,
    step = step + :steps,
    attempt = attempt + 1
WHERE id = :session AND user_id = :user AND deleted_at IS NULL AND token = :token
  AND NOT EXISTS (SELECT 1 FROM messages WHERE id = :last)
  AND EXISTS (SELECT 1 FROM streams WHERE turn_id = :turn AND session_id = :session)
RETURNING revision, epoch, head - :adds, :now - active_at, step, attempt;

-- Apart, because it moves the session within an index.
-- name: stir_session
UPDATE sessions SET active_at = max(active_at, :now) WHERE id = :session;

-- name: session_is_there
SELECT 1 FROM sessions WHERE id = :session AND user_id = :user AND deleted_at IS NULL;

-- name: token_is_current
SELECT 1 FROM sessions
WHERE id = :session AND user_id = :user AND deleted_at IS NULL AND token = :token;

-- Walks sessions_recent from the cursor on.
-- name: list_sessions
SELECT *, :now FROM session_details
WHERE user_id = :user AND archived = :archived
  AND (active_at, id) < (:before_at, :before_id)
  AND (:pinned IS NULL OR pinned = :pinned)
  AND (:project IS NULL OR project = :project)
  AND (:filed IS NULL OR (project IS NOT NULL) = :filed)
  AND (:subagents OR parent_kind IS NOT 'subagent')
  AND (:title IS NULL OR instr(fold(title), :title) > 0)
  AND (:route IS NULL OR EXISTS (SELECT 1 FROM turns t
                                 WHERE t.session_id = session_details.id AND t.route = :route))
ORDER BY active_at DESC, id DESC
LIMIT :limit;

-- Walks sessions_by_project.
-- name: list_projects
SELECT project, count(*) FROM sessions
WHERE user_id = :user AND project IS NOT NULL AND archived = 0 AND deleted_at IS NULL
  AND parent_kind IS NOT 'subagent'
GROUP BY project ORDER BY fold(project), project;

-- name: update_session
UPDATE sessions
SET title = CASE WHEN :set_title THEN :title ELSE title END,
    title_by = CASE WHEN :set_title THEN 'person' ELSE title_by END,
    project = CASE WHEN :set_project THEN :project ELSE project END,
    pinned = coalesce(:pinned, pinned),
    archived = coalesce(:archived, archived),
    seen = max(seen, coalesce(:seen, seen))
WHERE id = :session;

-- name: title_by_model
UPDATE sessions SET title = :title, title_by = 'model'
WHERE id = :session AND user_id = :user AND title_by IS NOT 'person'
RETURNING 1;

-- name: latest_prompt
SELECT p.signature, p.system, p.tools
FROM prompts p CROSS JOIN sessions s ON s.id = p.session_id
WHERE p.session_id = :session AND s.user_id = :user AND s.deleted_at IS NULL
ORDER BY p.revision DESC LIMIT 1;

-- Raising the token shuts out whoever was writing; the rows go later, in slices.
-- name: mark_deleted
UPDATE sessions SET deleted_at = :now, token = token + 1
WHERE id = :session AND user_id = :user AND deleted_at IS NULL
RETURNING 1;

-- name: route_target
SELECT r.session_id FROM routes r CROSS JOIN sessions s ON s.id = r.session_id
WHERE r.user_id = :user AND r.key = :route AND s.deleted_at IS NULL;
