-- name: insert_approval
INSERT INTO approvals (id, session_id, turn_id, call_id, kind, arguments, directory, workspace,
    question, state, asked_at, expires_at)
VALUES (:id, :session, :turn, :call, :kind, :arguments::bytea, :directory, :workspace, :body, 'pending',
    :now, :now + :ttl);

-- name: lock_session_of_approval
SELECT 1 FROM sessions WHERE id = (SELECT session_id FROM approvals WHERE id = :id) FOR NO KEY UPDATE;

-- name: get_approval
-- locks: lock_session_of_approval
SELECT a.id, a.session_id, a.turn_id, a.call_id, a.kind, a.arguments, a.directory, a.workspace,
    a.question, a.state, a.answer, a.asked_at, a.expires_at, a.answered_at, a.answered_by,
    a.answered_on
FROM approvals a JOIN sessions s ON s.id = a.session_id
WHERE a.id = :id AND s.user_id = :user AND s.deleted_at IS NULL;

-- Everybody's that are pending (approvals_due) are few; the user's are picked out.
-- name: pending_approvals
SELECT a.id, a.session_id, a.turn_id, a.call_id, a.kind, a.arguments, a.directory, a.workspace,
    a.question, a.state, a.answer, a.asked_at, a.expires_at, a.answered_at, a.answered_by,
    a.answered_on
FROM approvals a JOIN sessions s ON s.id = a.session_id
WHERE a.state = 'pending' AND s.user_id = :user AND s.deleted_at IS NULL
ORDER BY a.asked_at, a.id;

-- name: pending_approvals_of
SELECT id, session_id, turn_id, call_id, kind, arguments, directory, workspace, question, state,
    answer, asked_at, expires_at, answered_at, answered_by, answered_on
FROM approvals
WHERE session_id = :session AND state = 'pending'
ORDER BY asked_at, id;

-- name: approvals_of_turn
SELECT a.id, a.session_id, a.turn_id, a.call_id, a.kind, a.arguments, a.directory, a.workspace,
    a.question, a.state, a.answer, a.asked_at, a.expires_at, a.answered_at, a.answered_by,
    a.answered_on
FROM approvals a JOIN sessions s ON s.id = a.session_id
WHERE a.turn_id = :turn AND s.user_id = :user AND s.deleted_at IS NULL
ORDER BY a.asked_at, a.id;

-- What was asked about some calls and is settled. By the session's index, as few calls ask.
-- name: settled_approvals
SELECT id, session_id, turn_id, call_id, kind, arguments, directory, workspace, question, state,
    answer, asked_at, expires_at, answered_at, answered_by, answered_on
FROM approvals
WHERE session_id = :session AND state <> 'pending'
  AND call_id IN (SELECT json_array_elements_text(:ids))
ORDER BY asked_at, id;

-- name: approvals_by_id
SELECT id, session_id, turn_id, call_id, kind, arguments, directory, workspace, question, state,
    answer, asked_at, expires_at, answered_at, answered_by, answered_on
FROM approvals
WHERE id IN (SELECT json_array_elements_text(:ids)) AND session_id = :session
ORDER BY asked_at, id;

-- Those of deleted sessions go with their sessions.
-- name: lock_sessions_due
SELECT 1 FROM sessions
WHERE id IN (SELECT session_id FROM approvals WHERE state = 'pending' AND expires_at <= :now)
  AND deleted_at IS NULL
ORDER BY id FOR NO KEY UPDATE;

-- The same rule again is the one that is there. A session that is not the user's gets none.
-- name: insert_rule
INSERT INTO approval_rules (id, user_id, session_id, tool, pattern, decision, created_at)
SELECT :id, :user, :session, :tool, :pattern, :decision, :now
WHERE NOT EXISTS (
    SELECT 1 FROM approval_rules
    WHERE user_id = :user AND session_id IS NOT DISTINCT FROM :session AND tool = :tool AND pattern IS NOT DISTINCT FROM :pattern
        AND decision = :decision
) AND (:session IS NULL OR EXISTS (
    SELECT 1 FROM sessions WHERE id = :session AND user_id = :user AND deleted_at IS NULL
));

-- What a session may not do, its subagents may not do for it. approval_rules_of serves both.
-- name: rules_of_session
WITH RECURSIVE callers (id) AS (
    SELECT parent_id FROM sessions
    WHERE id = :session AND user_id = :user AND parent_kind = 'subagent'
    UNION
    SELECT s.parent_id FROM callers JOIN sessions s ON s.id = callers.id
    WHERE s.parent_kind = 'subagent'
)
SELECT id, tool, pattern, decision, session_id, created_at FROM approval_rules
WHERE user_id = :user AND session_id IS NULL
UNION ALL
SELECT id, tool, pattern, decision, session_id, created_at FROM approval_rules
WHERE user_id = :user AND session_id = :session
UNION ALL
SELECT id, tool, pattern, decision, session_id, created_at FROM approval_rules
WHERE user_id = :user AND session_id IN (SELECT id FROM callers) AND decision <> 'allow'
ORDER BY created_at, id;
