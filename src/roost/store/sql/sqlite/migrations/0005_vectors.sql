-- min_version: 1
-- A table of its own, and columns that an older Roost leaves as they are.

-- What live facts mean, as a model puts it: an index like `search_facts`, made again where it is missing.
CREATE TABLE search_vectors (
    seq           INTEGER PRIMARY KEY,      -- the fact's
    model         TEXT NOT NULL,            -- vectors of different ones can't be compared
    vector        BLOB NOT NULL
) STRICT;

-- Whoever changes a fact, and whether they know of vectors or not: none stays that is not its own.
CREATE TRIGGER facts_lose_vectors AFTER UPDATE OF text, superseded_by, forgotten_at ON facts
BEGIN
    DELETE FROM search_vectors WHERE seq = new.seq;
END;

-- Tries that failed for the segment's own sake, and since when nobody tries it any more.
ALTER TABLE memory_segments ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memory_segments ADD COLUMN rests_since INTEGER;
