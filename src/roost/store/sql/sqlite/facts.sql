-- name: facts_are_applied
SELECT 1 FROM facts_applied WHERE user_id = :user AND scope = :scope AND key = :key;

-- name: apply_facts
INSERT INTO facts_applied (user_id, scope, key, applied_at) VALUES (:user, :scope, :key, :now);

-- name: insert_fact
INSERT INTO facts (id, user_id, scope, text, kind, attribute, trust, session_id, turn_id, created_at,
    updated_at)
VALUES (:id, :user, :scope, :text, :kind, :attribute, :trust, :session, :turn, :now, :now)
ON CONFLICT (id) DO NOTHING
RETURNING seq;

-- name: name_entity
INSERT INTO fact_entities (fact_id, ordinal, entity_id) VALUES (:id, :ordinal, :entity);

-- name: index_fact
INSERT INTO search_facts (rowid, scope, words) VALUES (:seq, :mark, :words);

-- name: unindex_facts
DELETE FROM search_facts WHERE rowid IN (SELECT value FROM json_each(:seqs));

-- name: facts_to_index
SELECT * FROM fact_rows WHERE forgotten_at IS NULL;

-- name: supersede_fact
UPDATE facts SET superseded_by = :by
WHERE id = :id AND user_id = :user AND scope = :scope AND id <> :by
  AND superseded_by IS NULL AND forgotten_at IS NULL;

-- name: trust_fact
UPDATE facts SET trust = min(1.0, max(0.0, trust + :change)), updated_at = :now
WHERE id = :id AND user_id = :user AND scope = :scope AND forgotten_at IS NULL;

-- name: find_fact
SELECT * FROM fact_rows WHERE id = :id AND user_id = :user AND scope = :scope;

-- name: facts_by_id
SELECT * FROM fact_rows WHERE id IN (SELECT value FROM json_each(:ids));

-- Walks facts_live from the cursor on.
-- name: page_of_facts
SELECT * FROM fact_rows f
WHERE f.user_id = :user AND f.scope = :scope AND f.superseded_by IS NULL AND f.forgotten_at IS NULL
  AND f.seq < :before
ORDER BY f.seq DESC LIMIT :limit;

-- Walks facts_by_kind.
-- name: page_of_kind
SELECT * FROM fact_rows f
WHERE f.user_id = :user AND f.scope = :scope AND f.kind = :kind AND f.superseded_by IS NULL
  AND f.forgotten_at IS NULL AND f.seq < :before
ORDER BY f.seq DESC LIMIT :limit;

-- Those that a session taught (facts_from).
-- name: page_from_session
SELECT * FROM fact_rows f
WHERE f.session_id = :session AND f.user_id = :user AND f.scope = :scope
  AND f.superseded_by IS NULL AND f.forgotten_at IS NULL AND f.seq < :before
ORDER BY f.seq DESC LIMIT :limit;

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

-- name: edit_fact
UPDATE facts SET text = :text, trust = 1.0, updated_at = :now WHERE id = :id;

-- A fact and all that it superseded, at however many removes.
-- name: fact_and_its_past
WITH RECURSIVE past (id) AS (
    SELECT :id
    UNION
    SELECT f.id FROM past CROSS JOIN facts f ON f.superseded_by = past.id)
SELECT id FROM past;

-- name: facts_of_session
SELECT id FROM facts
WHERE session_id = :session AND user_id = :user AND scope = :scope AND forgotten_at IS NULL;

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

-- name: insert_entity
INSERT INTO entities (user_id, scope, name) VALUES (:user, :scope, :name) RETURNING id;

-- A name that another entity has stays with it.
-- name: add_entity_name
INSERT INTO entity_names (user_id, scope, folded, name, entity_id)
VALUES (:user, :scope, :folded, :name, :entity)
ON CONFLICT DO NOTHING;

-- name: drop_names_of_nothing
DELETE FROM entity_names
WHERE entity_id IN (SELECT value FROM json_each(:entities))
  AND NOT EXISTS (SELECT 1 FROM fact_entities n WHERE n.entity_id = entity_names.entity_id);

-- name: drop_entities_of_nothing
DELETE FROM entities
WHERE id IN (SELECT value FROM json_each(:entities))
  AND NOT EXISTS (SELECT 1 FROM fact_entities n WHERE n.entity_id = entities.id);
