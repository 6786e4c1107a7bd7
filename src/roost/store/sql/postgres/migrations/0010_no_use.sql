-- min_version: 7
-- Tries for which a model was paid, and what it made of the segment was no use. (Some stores of version 9
-- have it as `unusable`, which nobody reads.)
ALTER TABLE memory_segments ADD COLUMN no_use BIGINT NOT NULL DEFAULT 0;
