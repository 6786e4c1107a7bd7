-- name: find_turn
-- locks: lock_session_of_turn
SELECT * FROM turn_details WHERE id = :turn AND user_id = :user;

-- name: list_turns
SELECT * FROM turn_details WHERE session_id = :session AND user_id = :user ORDER BY place, id;

-- name: list_queue
SELECT * FROM turn_details
WHERE session_id = :session AND user_id = :user AND state = 'queued'
ORDER BY place, id;

-- A repeat is known by its id or by its key.
-- name: find_submitted
SELECT id, session_id, fingerprint FROM turns
WHERE id = :turn OR (session_id = :session AND key = :key)
ORDER BY id = :turn DESC LIMIT 1;

-- At the end of the queue or, for an edited message, at its front.
-- name: insert_turn
INSERT INTO turns (id, session_id, state, place, steer, route, options, ephemeral, key, fingerprint,
    input, created_at)
VALUES (:turn, :session, 'queued',
    CASE WHEN :front <> 0
        THEN coalesce((SELECT min(place) - 1 FROM turns WHERE session_id = :session
                       AND state = 'queued'),
                      (SELECT max(place) + 1 FROM turns WHERE session_id = :session), 1)
        ELSE coalesce((SELECT max(place) + 1 FROM turns WHERE session_id = :session), 1)
    END,
    :steer, :route, :options, :ephemeral, :key, :fingerprint, :input, :now);

-- name: edit_queued
UPDATE turns SET input = coalesce(:input, input), steer = coalesce(:steer, steer) WHERE id = :turn;

-- name: empty_queue
UPDATE turns SET state = 'removed', ended_at = :now
WHERE session_id = :session AND state = 'queued'
RETURNING id;

-- The newest that began (turns_begun), unless it was cleared away: then those before it were too. A clear takes what
-- began before it, until a restore, which can only be the next epoch.
-- name: latest_turn
SELECT * FROM turn_details t
WHERE id = (SELECT n.id FROM turns n
            WHERE n.session_id = :session AND n.start IS NOT NULL AND n.undone IS NULL
            ORDER BY n.start DESC LIMIT 1)
  AND user_id = :user
  AND NOT EXISTS (
      SELECT 1 FROM epochs e
      WHERE e.session_id = t.session_id AND e.kind = 'clear'
        AND e.epoch > coalesce((SELECT b.born FROM messages b WHERE b.id = t.message_id), 0)
        AND NOT EXISTS (SELECT 1 FROM epochs r
                        WHERE r.session_id = e.session_id AND r.epoch = e.epoch + 1 AND r.kind = 'restore'));

-- name: live_turn_row
SELECT * FROM turn_details WHERE session_id = :session AND state IN ('running', 'waiting');

-- name: live_turn
SELECT id FROM turns WHERE session_id = :session AND state IN ('running', 'waiting');

-- name: first_queued
SELECT id FROM turns WHERE session_id = :session AND state = 'queued' ORDER BY place, id LIMIT 1;

-- name: start_turn
UPDATE turns SET state = 'running', message_id = :message, start = :start, started_at = :now
WHERE id = :turn;

-- name: count_turn
UPDATE sessions SET turns = turns + 1 WHERE id = :session;

-- Of a turn that another server runs (turns_live): that server looks.
-- name: ask_to_stop
UPDATE turns SET cancel_at = coalesce(cancel_at, :now)
WHERE session_id = :session AND state IN ('running', 'waiting') AND state = 'running'
  AND (:turn IS NULL OR id = :turn)
RETURNING id;

-- name: resume_turn
UPDATE turns
SET state = 'running', reason = NULL, ended_at = NULL, cancel_at = NULL, continued = continued + :automatic
WHERE id = :turn;

-- name: merge_turn
UPDATE turns SET state = 'merged', message_id = :message, ended_at = :now WHERE id = :turn;

-- name: settle_turn
UPDATE turns SET message_id = coalesce(message_id, :message), start = coalesce(start, :start)
WHERE id = :turn;

-- name: mark_for_memory
UPDATE turns SET memory_scope = :scope WHERE id = :turn AND ephemeral = 0;

-- name: close_stream
DELETE FROM streams WHERE turn_id = :turn;

-- name: insert_tool_call
INSERT INTO tool_calls (session_id, id, turn_id, ordinal, name, arguments, state)
VALUES (:session, :call, :turn,
    (SELECT count(*) FROM tool_calls WHERE turn_id = :turn), :name, :arguments, 'requested');

-- name: find_tool_call
SELECT state FROM tool_calls WHERE session_id = :session AND id = :call AND turn_id = :turn;

-- name: set_tool_call
UPDATE tool_calls
SET state = :state, result = coalesce(:result, result),
    started_at = CASE WHEN :state = 'running' THEN :now ELSE started_at END,
    ended_at = CASE WHEN :ended <> 0 THEN :now ELSE ended_at END
WHERE session_id = :session AND id = :call;

-- The result stands in a message now.
-- name: place_result
UPDATE tool_calls SET result = NULL WHERE session_id = :session AND id = :call;

-- name: count_usage
UPDATE sessions
SET input_tokens = input_tokens + :input_tokens,
    output_tokens = output_tokens + :output_tokens,
    cost = cost + coalesce(:cost, 0),
    unpriced = unpriced + CASE WHEN :cost IS NULL THEN :calls ELSE 0 END,
    context_tokens = coalesce(:context, context_tokens)
WHERE id = :session;

-- name: insert_outbox
-- locks: lock_outbox
INSERT INTO outbox (id, user_id, route, ordinal, session_id, turn_id, body, state, due_at,
    created_at)
VALUES (:id, :user, :route,
    coalesce((SELECT max(ordinal) FROM outbox WHERE route = :route), 0) + 1,
    :session, :turn, :body, 'pending', :now, :now)
ON CONFLICT (id) DO NOTHING;
