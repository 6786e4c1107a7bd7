-- min_version: 11
-- Indexes, and a table that triggers keep: an older Roost leaves them as they are.

-- What a user's blobs take together, which nobody writes but these triggers. Who has none has no row.
CREATE TABLE blob_totals (
    user_id       TEXT PRIMARY KEY,
    bytes         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO blob_totals (user_id, bytes) SELECT user_id, sum(size) FROM blobs GROUP BY user_id;

CREATE TRIGGER blobs_come AFTER INSERT ON blobs
BEGIN
    INSERT INTO blob_totals (user_id, bytes) VALUES (new.user_id, new.size)
    ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER blobs_go AFTER DELETE ON blobs
BEGIN
    UPDATE blob_totals SET bytes = bytes - old.size WHERE user_id = old.user_id;
    DELETE FROM blob_totals WHERE user_id = old.user_id AND bytes = 0;
END;

-- Those that are part of the history, and those that each epoch took back, by their places in it.
CREATE INDEX turns_begun ON turns (session_id, undone, start) WHERE start IS NOT NULL;

-- No statement looks for anything by these.
DROP INDEX outbox_due;
DROP INDEX outbox_sent;
DROP INDEX outbox_turn;
