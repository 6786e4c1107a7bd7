-- Usage is kept by day (usage_by), so that a sum since midnight is exact.
-- name: used_today
SELECT coalesce(sum(input_tokens + output_tokens), 0), coalesce(sum(cost), 0)
FROM usage
WHERE user_id = :user AND at >= :now / 86400000 * 86400000;

-- By what caused it (usage_by): of a turn, a row for each model and day.
-- name: used_by
SELECT coalesce(sum(input_tokens + output_tokens), 0), coalesce(sum(cost), 0)
FROM usage WHERE source = :source AND user_id = :user;
