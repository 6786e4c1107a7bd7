-- name: facts_are_applied
-- locks: lock_facts
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

-- name: facts_to_index
SELECT * FROM fact_rows WHERE forgotten_at IS NULL;

-- name: supersede_fact
UPDATE facts SET superseded_by = :by
WHERE id = :id AND user_id = :user AND scope = :scope AND id <> :by
  AND superseded_by IS NULL AND forgotten_at IS NULL;

-- name: find_fact
-- locks: lock_facts
SELECT * FROM fact_rows WHERE id = :id AND user_id = :user AND scope = :scope;

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

-- name: edit_fact
UPDATE facts SET text = :text, trust = 1.0, updated_at = :now WHERE id = :id;

-- name: facts_of_session
-- locks: lock_facts
SELECT id FROM facts
WHERE session_id = :session AND user_id = :user AND scope = :scope AND forgotten_at IS NULL;

-- name: insert_entity
INSERT INTO entities (user_id, scope, name) VALUES (:user, :scope, :name) RETURNING id;

-- A name that another entity has stays with it.
-- name: add_entity_name
INSERT INTO entity_names (user_id, scope, folded, name, entity_id)
VALUES (:user, :scope, :folded, :name, :entity)
ON CONFLICT DO NOTHING;
