-- An answer that comes too late is none, even where nobody has looked at the clock yet.
-- name: answer_approval
UPDATE approvals
SET state = :state, answer = :answer, answered_at = :now, answered_by = :by, answered_on = :on
WHERE id = :id AND state = 'pending' AND expires_at > :now
RETURNING 1;

-- name: void_approvals
UPDATE approvals SET state = 'void'
WHERE session_id = :session AND turn_id = :turn AND state = 'pending'
RETURNING id, call_id;

-- Those of deleted sessions go with their sessions.
-- name: expire_approvals
-- locks: lock_sessions_due
UPDATE approvals SET state = 'expired'
WHERE state = 'pending' AND expires_at <= :now
  AND session_id IN (SELECT id FROM sessions s WHERE s.id = approvals.session_id
                     AND s.deleted_at IS NULL)
RETURNING id, call_id, session_id,
    (SELECT user_id FROM sessions WHERE sessions.id = approvals.session_id);

-- name: rules_of_user
SELECT id, tool, pattern, decision, session_id, created_at FROM approval_rules
WHERE user_id = :user
ORDER BY created_at, id;

-- name: delete_rule
DELETE FROM approval_rules WHERE id = :id AND user_id = :user RETURNING 1;
