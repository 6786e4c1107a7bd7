-- Usage is kept by day, so that a sum since midnight is exact (usage_when). What was imported may be of
-- days to come.
-- name: used_today
SELECT coalesce(sum(input_tokens + output_tokens), 0)::bigint, coalesce(sum(cost), 0)::bigint
FROM usage
WHERE user_id = :user AND at >= :now / 86400000 * 86400000
  AND at < (:now / 86400000 + 1) * 86400000;

-- By a session's subagents that were opened since a moment, and theirs (sessions_children, usage_of).
-- Deleted ones count.
-- name: used_by_subagents
WITH RECURSIVE children (id) AS (
    SELECT id FROM sessions
    WHERE parent_id = :session AND parent_kind = 'subagent' AND user_id = :user
      AND created_at >= :since
    UNION ALL
    SELECT s.id FROM children JOIN sessions s ON s.parent_id = children.id
    WHERE s.parent_kind = 'subagent'
)
SELECT coalesce(sum(n.input_tokens + n.output_tokens), 0)::bigint, coalesce(sum(n.cost), 0)::bigint
FROM children JOIN usage n ON n.session_id = children.id;

-- By what caused it (usage_by): of a turn, a row for each model and day.
-- name: used_by
SELECT coalesce(sum(input_tokens + output_tokens), 0)::bigint, coalesce(sum(cost), 0)::bigint
FROM usage WHERE source = :source AND user_id = :user;

-- By model (usage_by).
-- name: used_by_turn
SELECT provider, model, sum(calls)::bigint, sum(input_tokens)::bigint, sum(cached_tokens)::bigint, sum(cache_write_tokens)::bigint,
    sum(output_tokens)::bigint, sum(reasoning_tokens)::bigint, sum(cost)::bigint, sum(unpriced)::bigint
FROM usage WHERE source = :turn AND user_id = :user
GROUP BY provider, model ORDER BY sum(cost) DESC, provider, model;

-- By model (usage_of).
-- name: used_in_session
SELECT provider, model, sum(calls)::bigint, sum(input_tokens)::bigint, sum(cached_tokens)::bigint, sum(cache_write_tokens)::bigint,
    sum(output_tokens)::bigint, sum(reasoning_tokens)::bigint, sum(cost)::bigint, sum(unpriced)::bigint
FROM usage WHERE session_id = :session AND user_id = :user
GROUP BY provider, model ORDER BY sum(cost) DESC, provider, model;

-- By day and model (usage_when).
-- name: used_by_day
SELECT at / 86400000 * 86400000 AS day, provider, model, sum(calls)::bigint, sum(input_tokens)::bigint,
    sum(cached_tokens)::bigint, sum(cache_write_tokens)::bigint, sum(output_tokens)::bigint, sum(reasoning_tokens)::bigint,
    sum(cost)::bigint, sum(unpriced)::bigint
FROM usage
WHERE user_id = :user AND at >= (:now / 86400000 - :days + 1) * 86400000
  AND at < (:now / 86400000 + 1) * 86400000
GROUP BY day, provider, model ORDER BY day, provider, model;
