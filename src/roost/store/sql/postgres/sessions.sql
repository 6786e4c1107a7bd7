-- The fence and the order of all writes to a session: one row, raised once per write, with room made
-- for the messages it adds, unless they were added before. A writer that needs no lease passes no
-- token.
-- name: lock_session
SELECT 1 FROM sessions WHERE id = :session FOR NO KEY UPDATE;

-- name: raise_revision
-- holds: lock_session
-- tells: transaction
UPDATE sessions
SET revision = revision + 1,
    head = head + :adds,
    messages = messages + :adds,
    answered = CASE WHEN :answers <> 0 THEN revision + 1 ELSE answered END
WHERE id = :session AND user_id = :user AND deleted_at IS NULL
  AND (:token IS NULL OR token = :token)
  AND NOT EXISTS (SELECT 1 FROM messages WHERE id = :last)
RETURNING revision, epoch, head - :adds, :now - active_at, pg_current_xact_id()::text;

-- The same for the turn that runs, whose next attempt begins, of the same step or of the next. The
-- deltas of the attempt before are swept once no stream reaches back to them.
-- name: raise_attempt
-- holds: lock_session
-- tells: transaction
WITH raised AS (
    UPDATE sessions
    SET revision = revision + 1,
        head = head + :adds,
        messages = messages + :adds,
        answered = CASE WHEN :answers <> 0 THEN revision + 1 ELSE answered END
    WHERE id = :session AND user_id = :user AND deleted_at IS NULL AND token = :token
      AND NOT EXISTS (SELECT 1 FROM messages WHERE id = :last)
      AND EXISTS (SELECT 1 FROM streams WHERE turn_id = :turn AND session_id = :session)
    RETURNING revision, epoch, head, active_at),
tried AS (
    UPDATE streams
    SET attempt = attempt + 1, step = step + :steps, last_seq = 0, first_delta = NULL, last_delta = NULL
    FROM raised WHERE turn_id = :turn
    RETURNING step, attempt)
SELECT revision, epoch, head - :adds, :now - active_at, step, attempt, pg_current_xact_id()::text
FROM raised, tried;

-- Apart, because it moves the session within an index.
-- name: stir_session
UPDATE sessions SET active_at = greatest(active_at, :now) WHERE id = :session;

-- name: session_is_there
-- holds: lock_session
SELECT 1 FROM sessions WHERE id = :session AND user_id = :user AND deleted_at IS NULL
FOR NO KEY UPDATE;

-- name: token_is_current
-- holds: lock_session
SELECT 1 FROM sessions
WHERE id = :session AND user_id = :user AND deleted_at IS NULL AND token = :token
FOR NO KEY UPDATE;

-- Walks sessions_recent from the cursor on.
-- name: list_sessions
SELECT *, :now FROM session_details
WHERE user_id = :user AND archived = :archived
  AND (active_at, id) < (:before_at, :before_id)
  AND (:pinned IS NULL OR pinned = :pinned)
  AND (:project IS NULL OR project = :project)
  AND (:filed IS NULL OR (project IS NOT NULL)::int = :filed)
  AND (:subagents <> 0 OR parent_kind IS DISTINCT FROM 'subagent')
  AND (:title IS NULL OR strpos(fold(title), :title) > 0)
  AND (:route IS NULL OR EXISTS (SELECT 1 FROM turns t
                                 WHERE t.session_id = session_details.id AND t.route = :route))
ORDER BY active_at DESC, id DESC
LIMIT :limit;

-- Walks sessions_by_project.
-- name: list_projects
SELECT project, count(*) FROM sessions
WHERE user_id = :user AND project IS NOT NULL AND archived = 0 AND deleted_at IS NULL
  AND parent_kind IS DISTINCT FROM 'subagent'
GROUP BY project ORDER BY fold(project), project;

-- name: update_session
UPDATE sessions
SET title = CASE WHEN :set_title <> 0 THEN :title ELSE title END,
    title_by = CASE WHEN :set_title <> 0 THEN 'person' ELSE title_by END,
    project = CASE WHEN :set_project <> 0 THEN :project ELSE project END,
    pinned = coalesce(:pinned, pinned),
    archived = coalesce(:archived, archived),
    seen = greatest(seen, coalesce(:seen, seen))
WHERE id = :session;

-- name: title_by_model
UPDATE sessions SET title = :title, title_by = 'model'
WHERE id = :session AND user_id = :user AND title_by IS DISTINCT FROM 'person'
RETURNING 1;

-- name: latest_prompt
SELECT p.signature, p.system, p.tools
FROM prompts p JOIN sessions s ON s.id = p.session_id
WHERE p.session_id = :session AND s.user_id = :user AND s.deleted_at IS NULL
ORDER BY p.revision DESC LIMIT 1;

-- Raising the token shuts out whoever was writing; the rows go later, in slices. Until then streams are
-- under a token that nobody can have: a tick does not look at the session.
-- name: mark_deleted
WITH gone AS (
    UPDATE sessions SET deleted_at = :now, token = token + 1
    WHERE id = :session AND user_id = :user AND deleted_at IS NULL
    RETURNING id),
streaming AS (UPDATE streams t SET token = -1 FROM gone WHERE t.session_id = gone.id)
SELECT 1 FROM gone;

-- A route may have no row yet that could be locked.
-- name: lock_route
SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('route:' || :user || ':' || :route, 0));

-- name: route_target
-- locks: lock_route
SELECT r.session_id FROM routes r JOIN sessions s ON s.id = r.session_id
WHERE r.user_id = :user AND r.key = :route AND s.deleted_at IS NULL;
