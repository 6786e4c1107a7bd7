-- min_version: 7
-- Only the number: the pages that SQLite saves with this version are not what a write costs here.
SELECT 1;
