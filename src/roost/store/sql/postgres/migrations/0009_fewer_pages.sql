-- min_version: 7
-- The pages that SQLite saves with this version are not what a write costs here.

-- Tries for which a model was paid, and what it made of the segment was no use.
ALTER TABLE memory_segments ADD COLUMN unusable BIGINT NOT NULL DEFAULT 0;
