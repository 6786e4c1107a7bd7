-- min_version: 1
-- An index only: an older Roost keeps it without knowing it.

-- What a provider was offered of sessions that were deleted, and has to forget.
CREATE INDEX memory_segments_withdrawn ON memory_segments (due_at)
    WHERE state = 'withdrawn' AND tries > 0;
