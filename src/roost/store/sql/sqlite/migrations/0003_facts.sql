-- min_version: 1
-- Tables of their own: an older Roost keeps them without knowing them.

-- What the built-in memory knows of a user. One that is forgotten keeps its row, without its text.
-- `seq` names it to the index, and orders them.
CREATE TABLE facts (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    user_id       TEXT NOT NULL REFERENCES users (id),
    scope         TEXT NOT NULL,
    text          TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('fact', 'preference', 'instruction', 'event')),
    attribute     TEXT,                     -- what it says, where only one such thing can be true
    trust         REAL NOT NULL,            -- 0 to 1
    session_id    TEXT,
    turn_id       TEXT,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    superseded_by TEXT,
    forgotten_at  INTEGER
) STRICT;
CREATE INDEX facts_live ON facts (user_id, scope, seq)
    WHERE superseded_by IS NULL AND forgotten_at IS NULL;
CREATE INDEX facts_by_kind ON facts (user_id, scope, kind, seq)
    WHERE superseded_by IS NULL AND forgotten_at IS NULL;
CREATE INDEX facts_from ON facts (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX facts_superseded ON facts (superseded_by) WHERE superseded_by IS NOT NULL;

-- What was written once may not be written again.
CREATE TABLE facts_applied (
    user_id       TEXT NOT NULL,
    scope         TEXT NOT NULL,
    key           TEXT NOT NULL,            -- of a segment, or of a tool call
    applied_at    INTEGER NOT NULL,
    PRIMARY KEY (user_id, scope, key)
) STRICT, WITHOUT ROWID;

-- What facts are about.
CREATE TABLE entities (
    id            INTEGER PRIMARY KEY,
    user_id       TEXT NOT NULL REFERENCES users (id),
    scope         TEXT NOT NULL,
    name          TEXT NOT NULL
) STRICT;

-- Every name of an entity, its own among them.
CREATE TABLE entity_names (
    user_id       TEXT NOT NULL,
    scope         TEXT NOT NULL,
    folded        TEXT NOT NULL,            -- as names are compared
    name          TEXT NOT NULL,
    entity_id     INTEGER NOT NULL REFERENCES entities (id),
    PRIMARY KEY (user_id, scope, folded)
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_names_of ON entity_names (entity_id);

CREATE TABLE fact_entities (
    fact_id       TEXT NOT NULL REFERENCES facts (id),
    ordinal       INTEGER NOT NULL,         -- 0: it says something of this one
    entity_id     INTEGER NOT NULL REFERENCES entities (id),
    PRIMARY KEY (fact_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_entities_of ON fact_entities (entity_id, fact_id);

-- Like `search`; `words` has a fact's text and the names of its entities.
CREATE VIRTUAL TABLE search_facts USING fts5 (
    scope, words, content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 2"
);

CREATE VIEW fact_rows AS
SELECT f.user_id, f.scope, f.seq, f.id, f.text, f.kind,
    (SELECT json_group_array(e.name ORDER BY n.ordinal)
     FROM fact_entities n CROSS JOIN entities e ON e.id = n.entity_id
     WHERE n.fact_id = f.id) AS entities,
    f.attribute, f.trust, f.session_id, f.turn_id, f.created_at, f.updated_at, f.superseded_by,
    f.forgotten_at
FROM facts f;

-- The first pending segment of a session and scope goes before the others.
CREATE INDEX memory_segments_pending ON memory_segments (session_id, scope, created_at)
    WHERE state = 'pending';
