-- name: index_fact
INSERT INTO search_facts (rowid, scope, words) VALUES (:seq, :mark, :words);

-- name: unindex_facts
DELETE FROM search_facts WHERE rowid IN (SELECT value FROM json_each(:seqs));

-- name: trust_fact
UPDATE facts SET trust = min(1.0, max(0.0, trust + :change)), updated_at = :now
WHERE id = :id AND user_id = :user AND scope = :scope AND forgotten_at IS NULL;

-- name: facts_by_id
SELECT * FROM fact_rows WHERE id IN (SELECT value FROM json_each(:ids));

-- The scope in the index narrows the search; it has no weight in the score.
-- name: search_facts
WITH best (seq, score) AS MATERIALIZED (
    SELECT f.seq, -bm25(search_facts, 0.0, 1.0) AS score
    FROM search_facts CROSS JOIN facts f ON f.seq = search_facts.rowid
    WHERE search_facts MATCH :match AND f.user_id = :user AND f.scope = :scope
      AND f.superseded_by IS NULL AND f.forgotten_at IS NULL
    ORDER BY score DESC, f.seq DESC LIMIT :limit)
SELECT f.*, best.score FROM best CROSS JOIN fact_rows f ON f.seq = best.seq
ORDER BY best.score DESC, f.seq DESC;

-- Those that name every one of some entities (fact_entities_of).
-- name: facts_naming
WITH newest (seq) AS MATERIALIZED (
    SELECT f.seq FROM facts f
    WHERE f.id IN (SELECT n.fact_id FROM fact_entities n
                   WHERE n.entity_id IN (SELECT value FROM json_each(:entities))
                   GROUP BY n.fact_id HAVING count(*) = json_array_length(:entities))
      AND f.superseded_by IS NULL AND f.forgotten_at IS NULL
    ORDER BY f.seq DESC LIMIT :limit)
SELECT f.* FROM newest CROSS JOIN fact_rows f ON f.seq = newest.seq ORDER BY f.seq DESC;

-- Live facts that say the same kind of thing of the same entity, oldest first.
-- name: facts_at_odds
SELECT e.name, json_group_array(f.id ORDER BY f.seq)
FROM facts f
    CROSS JOIN fact_entities n ON n.fact_id = f.id AND n.ordinal = 0
    CROSS JOIN entities e ON e.id = n.entity_id
WHERE f.user_id = :user AND f.scope = :scope AND f.superseded_by IS NULL AND f.forgotten_at IS NULL
  AND f.attribute IS NOT NULL
GROUP BY n.entity_id, fold(f.attribute) HAVING count(*) > 1
ORDER BY max(f.seq) DESC LIMIT :limit;

-- A fact and all that it superseded, at however many removes.
-- name: fact_and_its_past
WITH RECURSIVE past (id) AS (
    SELECT :id
    UNION
    SELECT f.id FROM past CROSS JOIN facts f ON f.superseded_by = past.id)
SELECT id FROM past;

-- What a withdrawn fact superseded holds again, unless another took that one's place in turn.
-- name: hand_on_superseded
UPDATE facts
SET superseded_by = (SELECT n.superseded_by FROM facts n WHERE n.id = facts.superseded_by)
WHERE superseded_by IN (SELECT value FROM json_each(:ids))
  AND id NOT IN (SELECT value FROM json_each(:ids))
RETURNING id;

-- name: erase_facts
UPDATE facts SET text = '', attribute = NULL, forgotten_at = :now
WHERE id IN (SELECT value FROM json_each(:ids)) AND forgotten_at IS NULL
RETURNING seq;

-- name: entities_of_facts
SELECT DISTINCT entity_id FROM fact_entities WHERE fact_id IN (SELECT value FROM json_each(:ids));

-- name: unname_entities
DELETE FROM fact_entities WHERE fact_id IN (SELECT value FROM json_each(:ids));

-- `names` is a JSON list of folded names.
-- name: entities_named
SELECT DISTINCT e.id, e.name
FROM json_each(:names) j
    CROSS JOIN entity_names n ON n.user_id = :user AND n.scope = :scope AND n.folded = j.value
    CROSS JOIN entities e ON e.id = n.entity_id
ORDER BY j.key;

-- name: names_of_entities
SELECT entity_id, name FROM entity_names
WHERE entity_id IN (SELECT value FROM json_each(:entities))
ORDER BY entity_id, folded;

-- name: drop_names_of_nothing
DELETE FROM entity_names
WHERE entity_id IN (SELECT value FROM json_each(:entities))
  AND NOT EXISTS (SELECT 1 FROM fact_entities n WHERE n.entity_id = entity_names.entity_id);

-- name: drop_entities_of_nothing
DELETE FROM entities
WHERE id IN (SELECT value FROM json_each(:entities))
  AND NOT EXISTS (SELECT 1 FROM fact_entities n WHERE n.entity_id = entities.id);
