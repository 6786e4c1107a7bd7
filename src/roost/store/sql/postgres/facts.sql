-- What one user remembers in one scope is changed by one at a time.
-- name: lock_facts
SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('facts:' || :user || ':' || :scope, 0));

-- name: index_fact
INSERT INTO search_facts (seq, vector, words) VALUES (:seq, :fact_vector::text::tsvector, :fact_length);

-- name: unindex_facts
DELETE FROM search_facts WHERE seq IN (SELECT json_array_elements_text(:seqs)::bigint);

-- name: trust_fact
UPDATE facts SET trust = least(1.0, greatest(0.0, trust + :change)), updated_at = :now
WHERE id = :id AND user_id = :user AND scope = :scope AND forgotten_at IS NULL;

-- name: facts_by_id
SELECT * FROM fact_rows WHERE id IN (SELECT json_array_elements_text(:ids));

-- Scored as FTS5 does it (bm25), among the user's own live facts: `terms` are the words that count.
-- name: search_facts
WITH live AS MATERIALIZED (
    SELECT f.seq, v.vector, v.words, v.vector @@ :tsquery::text::tsquery AS found
    FROM facts f JOIN search_facts v ON v.seq = f.seq
    WHERE f.user_id = :user AND f.scope = :scope
      AND f.superseded_by IS NULL AND f.forgotten_at IS NULL),
whole AS MATERIALIZED (SELECT count(*) AS facts, greatest(avg(words), 1) AS words FROM live),
hits AS MATERIALIZED (
    SELECT l.seq, l.words, u.lexeme, cardinality(u.positions) AS times
    FROM live l CROSS JOIN unnest(l.vector) u
    WHERE l.found AND EXISTS (
        SELECT 1 FROM json_array_elements_text(:terms) term
        WHERE u.lexeme = term OR (term LIKE '%*' AND starts_with(u.lexeme, rtrim(term, '*'))))),
weights AS MATERIALIZED (
    SELECT lexeme, greatest(ln((whole.facts - count(*) + 0.5) / (count(*) + 0.5)), 0.000001) AS weight
    FROM hits CROSS JOIN whole GROUP BY lexeme, whole.facts),
best AS MATERIALIZED (
    SELECT h.seq, sum(w.weight * h.times * 2.2
        / (h.times + 1.2 * (0.25 + 0.75 * h.words / whole.words)))::double precision AS score
    FROM hits h JOIN weights w ON w.lexeme = h.lexeme CROSS JOIN whole
    GROUP BY h.seq ORDER BY score DESC, h.seq DESC LIMIT :limit)
SELECT f.*, best.score FROM best JOIN fact_rows f ON f.seq = best.seq
ORDER BY best.score DESC, f.seq DESC;

-- Those that name every one of some entities (fact_entities_of).
-- name: facts_naming
WITH newest (seq) AS MATERIALIZED (
    SELECT f.seq FROM facts f
    WHERE f.id IN (SELECT n.fact_id FROM fact_entities n
                   WHERE n.entity_id IN (SELECT json_array_elements_text(:entities)::bigint)
                   GROUP BY n.fact_id HAVING count(*) = json_array_length(:entities))
      AND f.superseded_by IS NULL AND f.forgotten_at IS NULL
    ORDER BY f.seq DESC LIMIT :limit)
SELECT f.* FROM newest JOIN fact_rows f ON f.seq = newest.seq ORDER BY f.seq DESC;

-- Live facts that say the same kind of thing of the same entity, oldest first.
-- name: facts_at_odds
SELECT e.name, json_agg(f.id ORDER BY f.seq)::text
FROM facts f
    JOIN fact_entities n ON n.fact_id = f.id AND n.ordinal = 0
    JOIN entities e ON e.id = n.entity_id
WHERE f.user_id = :user AND f.scope = :scope AND f.superseded_by IS NULL AND f.forgotten_at IS NULL
  AND f.attribute IS NOT NULL
GROUP BY n.entity_id, e.name, fold(f.attribute) HAVING count(*) > 1
ORDER BY max(f.seq) DESC LIMIT :limit;

-- A fact and all that it superseded, at however many removes.
-- name: fact_and_its_past
WITH RECURSIVE past (id) AS (
    SELECT :id COLLATE "C"
    UNION
    SELECT f.id FROM past JOIN facts f ON f.superseded_by = past.id)
SELECT id FROM past;

-- What a withdrawn fact superseded holds again, unless another took that one's place in turn.
-- name: hand_on_superseded
UPDATE facts
SET superseded_by = (SELECT n.superseded_by FROM facts n WHERE n.id = facts.superseded_by)
WHERE superseded_by IN (SELECT json_array_elements_text(:ids))
  AND id NOT IN (SELECT json_array_elements_text(:ids))
RETURNING id;

-- name: erase_facts
UPDATE facts SET text = '', attribute = NULL, forgotten_at = :now
WHERE id IN (SELECT json_array_elements_text(:ids)) AND forgotten_at IS NULL
RETURNING seq;

-- name: entities_of_facts
SELECT DISTINCT entity_id FROM fact_entities WHERE fact_id IN (SELECT json_array_elements_text(:ids));

-- name: unname_entities
DELETE FROM fact_entities WHERE fact_id IN (SELECT json_array_elements_text(:ids));

-- `names` is a JSON list of folded names.
-- name: entities_named
-- locks: lock_facts
SELECT e.id, e.name
FROM json_array_elements_text(:names) WITH ORDINALITY j (value, key)
    JOIN entity_names n ON n.user_id = :user AND n.scope = :scope AND n.folded = j.value
    JOIN entities e ON e.id = n.entity_id
ORDER BY j.key;

-- name: names_of_entities
SELECT entity_id, name FROM entity_names
WHERE entity_id IN (SELECT json_array_elements_text(:entities)::bigint)
ORDER BY entity_id, folded;

-- name: drop_names_of_nothing
DELETE FROM entity_names
WHERE entity_id IN (SELECT json_array_elements_text(:entities)::bigint)
  AND NOT EXISTS (SELECT 1 FROM fact_entities n WHERE n.entity_id = entity_names.entity_id);

-- name: drop_entities_of_nothing
DELETE FROM entities
WHERE id IN (SELECT json_array_elements_text(:entities)::bigint)
  AND NOT EXISTS (SELECT 1 FROM fact_entities n WHERE n.entity_id = entities.id);
