-- min_version: 7
-- Indexes, and a table that triggers keep: an older Roost leaves them as they are.

-- What a user's blobs take together, which nobody writes but these triggers. Who has none has no row.
CREATE TABLE blob_totals (
    user_id       TEXT COLLATE "C" PRIMARY KEY,
    bytes         BIGINT NOT NULL
) WITH (fillfactor = 50);

-- In one order wherever several are locked.
CREATE FUNCTION count_blobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO blob_totals AS t (user_id, bytes)
    SELECT user_id, sum(CASE TG_OP WHEN 'INSERT' THEN size ELSE -size END) FROM changed
    GROUP BY user_id ORDER BY user_id
    ON CONFLICT (user_id) DO UPDATE SET bytes = t.bytes + excluded.bytes;
    DELETE FROM blob_totals WHERE bytes = 0 AND user_id IN (SELECT user_id FROM changed);
    RETURN NULL;
END $$;
CREATE TRIGGER blobs_come AFTER INSERT ON blobs
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_blobs();
CREATE TRIGGER blobs_go AFTER DELETE ON blobs
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_blobs();
-- Nobody else writes to blobs by now.
INSERT INTO blob_totals (user_id, bytes) SELECT user_id, sum(size) FROM blobs GROUP BY user_id;

-- Those that are part of the history, and those that each epoch took back, by their places in it.
CREATE INDEX turns_begun ON turns (session_id, undone, start) WHERE start IS NOT NULL;

-- No statement looks for anything by these.
DROP INDEX outbox_due;
DROP INDEX outbox_sent;
DROP INDEX outbox_turn;
