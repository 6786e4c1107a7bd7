-- min_version: 1
-- Tables, columns and indexes that an older Roost leaves as they are.

-- How far a channel's platform was read, by names of the channel's own.
CREATE TABLE channel_cursors (
    channel       TEXT NOT NULL,
    name          TEXT NOT NULL,
    value         TEXT NOT NULL,
    PRIMARY KEY (channel, name)
) STRICT, WITHOUT ROWID;

-- What handling it will do, written down before it is done: after a crash it is not done twice.
ALTER TABLE inbox ADD COLUMN plan TEXT;
CREATE INDEX inbox_messages ON inbox (channel, route, message_id) WHERE message_id IS NOT NULL;

-- What an entry was split into, before the first of it is sent.
CREATE TABLE outbox_pieces (
    outbox_id     TEXT NOT NULL,
    number        INTEGER NOT NULL,
    body          TEXT NOT NULL,            -- JSON
    external_id   TEXT,
    sent_at       INTEGER,
    PRIMARY KEY (outbox_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_pieces_sent ON outbox_pieces (external_id) WHERE external_id IS NOT NULL;
CREATE INDEX outbox_waiting ON outbox (route, ordinal) WHERE state = 'pending';
CREATE INDEX outbox_failed ON outbox (created_at) WHERE state = 'failed';
CREATE INDEX outbox_old ON outbox (sent_at) WHERE state = 'sent';
CREATE INDEX outbox_turn ON outbox (turn_id) WHERE turn_id IS NOT NULL;

-- The message that shows how far an answer has come, which the answer then takes the place of.
CREATE TABLE progress (
    turn_id       TEXT NOT NULL,
    route         TEXT NOT NULL,
    external_id   TEXT NOT NULL,
    shown_at      INTEGER NOT NULL,
    PRIMARY KEY (turn_id, route)
) STRICT, WITHOUT ROWID;

CREATE INDEX pairings_code ON pairings (code_hash) WHERE code_hash IS NOT NULL;

CREATE INDEX schedules_by_user ON schedules (user_id);

-- Who alone is at the other end of a channel's route, by the platform's id.
ALTER TABLE routes ADD COLUMN sender TEXT;

CREATE INDEX pairings_blocked ON pairings (channel) WHERE state = 'blocked';
