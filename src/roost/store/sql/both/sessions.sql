-- name: session_head
SELECT revision, epoch, head FROM sessions WHERE id = :session;

-- name: record_events
INSERT INTO events (session_id, revision, body, at) VALUES (:session, :revision, :body, :now);

-- name: insert_session
INSERT INTO sessions (id, user_id, origin, title, title_by, project, parent, parent_kind, config,
    signature, revision, created_at, active_at)
VALUES (:session, :user, :origin, :title, :title_by, :project, :parent, :parent_kind, :config,
    :signature, 1, :now, :now)
ON CONFLICT (id) DO NOTHING
RETURNING 1;

-- name: get_session
-- locks: lock_session
SELECT *, :now FROM session_details WHERE id = :session AND user_id = :user;

-- name: configure_session
UPDATE sessions SET config = :config, signature = :signature WHERE id = :session;

-- name: insert_prompt
INSERT INTO prompts (session_id, revision, signature, system, tools, created_at)
VALUES (:session, :revision, :signature, :system, :tools, :now);

-- name: end_session
UPDATE sessions SET ended_at = coalesce(ended_at, :now) WHERE id = :session;

-- name: reopen_session
UPDATE sessions SET ended_at = NULL WHERE id = :session AND ended_at IS NOT NULL RETURNING 1;

-- Whose they are is asked of the few (sessions_children): asked of the view, it walks all that the user has.
-- name: children_of
SELECT *, :now FROM session_details
WHERE id IN (SELECT id FROM sessions
             WHERE parent_id = :session AND parent_kind = 'subagent' AND user_id = :user)
ORDER BY created_at, id;

-- name: subagents_of
SELECT id FROM sessions
WHERE parent_id = :session AND parent_kind = 'subagent' AND user_id = :user AND deleted_at IS NULL;

-- name: void_session_lease
UPDATE leases SET token = token + 1, holder = NULL, until = :now
WHERE name = 'session:' || :session;

-- Those of turns that were undone are withdrawn already (turns_unremembered).
-- name: withdraw_marks
UPDATE turns SET memory_scope = NULL
WHERE session_id = :session AND memory_scope IS NOT NULL AND segment_id IS NULL AND undone IS NULL;

-- name: withdraw_segments
UPDATE memory_segments SET state = 'withdrawn', due_at = :now, error = NULL, rests_since = NULL
WHERE session_id = :session AND state <> 'withdrawn';

-- name: leave_routes
UPDATE routes SET session_id = NULL, updated_at = :now WHERE session_id = :session;

-- name: point_route
INSERT INTO routes (user_id, key, session_id, updated_at) VALUES (:user, :route, :session, :now)
ON CONFLICT (user_id, key) DO UPDATE SET session_id = excluded.session_id, updated_at = :now;

-- Channels on which a session is current (routes_to).
-- name: channel_routes
SELECT key FROM routes WHERE session_id = :session AND user_id = :user AND key LIKE '%:%'
ORDER BY key;

-- The newest of the places on channels where someone talked, with what is current there.
-- name: user_routes
SELECT r.key, r.session_id, r.sender FROM routes r LEFT JOIN sessions s ON s.id = r.session_id
WHERE r.user_id = :user AND r.key LIKE '%:%' AND s.deleted_at IS NULL
ORDER BY r.updated_at DESC, r.key LIMIT :limit;

-- name: route_policy
SELECT policy FROM routes WHERE user_id = :user AND key = :route;

-- name: set_route_policy
UPDATE routes SET policy = :policy WHERE user_id = :user AND key = :route;

-- name: route_is_known
SELECT 1 FROM routes WHERE user_id = :user AND key = :route;
