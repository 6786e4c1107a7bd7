-- min_version: 1
-- Times are milliseconds since 1970 UTC, costs nano-dollars, JSON is text and kept byte for byte.

CREATE TABLE users (
    id            TEXT PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    role          TEXT NOT NULL CHECK (role IN ('admin', 'member')),
    password      TEXT,                     -- argon2, empty until one is set
    time_zone     TEXT NOT NULL,
    locale        TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    disabled_at   INTEGER
) STRICT;

-- A browser that signed in, or a one-time link that has not been used yet.
CREATE TABLE sign_ins (
    id            TEXT PRIMARY KEY,
    user_id       TEXT NOT NULL REFERENCES users (id),
    kind          TEXT NOT NULL CHECK (kind IN ('link', 'browser')),
    hash          BLOB NOT NULL UNIQUE,
    agent         TEXT,
    created_at    INTEGER NOT NULL,
    seen_at       INTEGER,
    expires_at    INTEGER NOT NULL,
    revoked_at    INTEGER
) STRICT;
CREATE INDEX sign_ins_of ON sign_ins (user_id);

CREATE TABLE api_tokens (
    id            TEXT PRIMARY KEY,
    user_id       TEXT NOT NULL REFERENCES users (id),
    name          TEXT NOT NULL,
    hash          BLOB NOT NULL UNIQUE,
    scopes        TEXT NOT NULL,            -- JSON list
    created_at    INTEGER NOT NULL,
    used_at       INTEGER,
    expires_at    INTEGER,
    revoked_at    INTEGER
) STRICT;
CREATE INDEX api_tokens_of ON api_tokens (user_id);

-- user_id '' is the server itself, here and in secrets.
CREATE TABLE settings (
    user_id       TEXT NOT NULL,
    key           TEXT NOT NULL,
    value         TEXT NOT NULL,            -- JSON
    updated_at    INTEGER NOT NULL,
    PRIMARY KEY (user_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
    user_id       TEXT NOT NULL,
    name          TEXT NOT NULL,
    sealed        BLOB NOT NULL,            -- nonce and ciphertext; the key is not in here
    updated_at    INTEGER NOT NULL,
    PRIMARY KEY (user_id, name)
) STRICT, WITHOUT ROWID;

-- Every write raises `revision` by one, in the statement that also checks `token`.
CREATE TABLE sessions (
    id            TEXT PRIMARY KEY,
    user_id       TEXT NOT NULL REFERENCES users (id),
    origin        TEXT NOT NULL,
    title         TEXT,
    title_by      TEXT CHECK (title_by IN ('person', 'model')),
    pinned        INTEGER NOT NULL DEFAULT 0,
    archived      INTEGER NOT NULL DEFAULT 0,
    project       TEXT,
    parent        TEXT,                     -- JSON: session, kind, message
    parent_kind   TEXT CHECK (parent_kind IN ('branch', 'subagent')),
    config        TEXT,                     -- JSON, without the credential
    signature     TEXT,
    token         INTEGER NOT NULL DEFAULT 0,
    revision      INTEGER NOT NULL DEFAULT 0,
    epoch         INTEGER NOT NULL DEFAULT 0,
    head          INTEGER NOT NULL DEFAULT 0,
    seen          INTEGER NOT NULL DEFAULT 0,
    answered      INTEGER NOT NULL DEFAULT 0,
    messages      INTEGER NOT NULL DEFAULT 0,
    turns         INTEGER NOT NULL DEFAULT 0,
    input_tokens  INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cost          INTEGER NOT NULL DEFAULT 0,
    unpriced      INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    active_at     INTEGER NOT NULL,
    ended_at      INTEGER,
    deleted_at    INTEGER
) STRICT;
CREATE INDEX sessions_recent ON sessions (user_id, archived, active_at DESC, id DESC)
    WHERE deleted_at IS NULL;
CREATE INDEX sessions_deleted ON sessions (deleted_at) WHERE deleted_at IS NOT NULL;

-- The system prompt and tool schemas a session sends, built once per configuration. Apart from
-- sessions, so that raising a revision does not rewrite them.
CREATE TABLE prompts (
    session_id    TEXT NOT NULL REFERENCES sessions (id),
    revision      INTEGER NOT NULL,
    signature     TEXT NOT NULL,
    system        TEXT NOT NULL,
    tools         TEXT NOT NULL,            -- JSON list
    created_at    INTEGER NOT NULL,
    PRIMARY KEY (session_id, revision)
) STRICT;

-- Where messages come from, and the session that is current there.
CREATE TABLE routes (
    user_id       TEXT NOT NULL REFERENCES users (id),
    key           TEXT NOT NULL,
    session_id    TEXT REFERENCES sessions (id),
    policy        TEXT NOT NULL DEFAULT '{}', -- JSON: when it resets, who is heard in a group
    updated_at    INTEGER NOT NULL,
    PRIMARY KEY (user_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX routes_to ON routes (session_id);

CREATE TABLE pairings (
    channel       TEXT NOT NULL,
    sender        TEXT NOT NULL,
    user_id       TEXT REFERENCES users (id),
    state         TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'blocked')),
    code_hash     BLOB,
    name          TEXT,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER,
    decided_at    INTEGER,
    decided_by    TEXT,
    PRIMARY KEY (channel, sender)
) STRICT, WITHOUT ROWID;

-- `seq` names a message to the search index. A message is part of the history in the epochs from
-- `born` up to, and without, `gone`.
CREATE TABLE messages (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    session_id    TEXT NOT NULL REFERENCES sessions (id),
    position      INTEGER NOT NULL,
    revision      INTEGER NOT NULL,
    born          INTEGER NOT NULL,
    gone          INTEGER,
    turn_id       TEXT,
    role          TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'note')),
    partial       INTEGER NOT NULL DEFAULT 0,
    parts         TEXT NOT NULL,            -- JSON
    created_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_of ON messages (session_id, gone, position);

-- Every rewrite of a history opens an epoch. The key lets only one do so.
CREATE TABLE epochs (
    session_id    TEXT NOT NULL REFERENCES sessions (id),
    epoch         INTEGER NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('undo', 'edit', 'clear', 'compaction', 'restore')),
    revision      INTEGER NOT NULL,
    detail        TEXT NOT NULL DEFAULT '{}', -- JSON: of a compaction, its summary, tokens, cost, model
    created_at    INTEGER NOT NULL,
    PRIMARY KEY (session_id, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    id            TEXT PRIMARY KEY,
    session_id    TEXT NOT NULL REFERENCES sessions (id),
    state         TEXT NOT NULL CHECK (state IN ('queued', 'running', 'waiting', 'completed',
                      'failed', 'cancelled', 'interrupted', 'removed', 'merged')),
    place         INTEGER NOT NULL,         -- in the queue
    steer         INTEGER NOT NULL DEFAULT 0,
    route         TEXT,
    options       TEXT NOT NULL,            -- JSON
    ephemeral     INTEGER NOT NULL DEFAULT 0,
    key           TEXT,                     -- idempotency, emptied by retention
    fingerprint   BLOB NOT NULL,            -- of the body the key stands for
    input         TEXT NOT NULL,            -- JSON parts
    message_id    TEXT,                     -- where the input stands in history, once started
    start         INTEGER,                  -- position of its first message
    step          INTEGER NOT NULL DEFAULT 0, -- while it runs, its stream has these two
    attempt       INTEGER NOT NULL DEFAULT 0,
    reason        TEXT,
    undone        INTEGER,                  -- the epoch that took it back
    memory_scope  TEXT,                     -- set at completion: it may be committed to this scope
    segment_id    TEXT REFERENCES memory_segments (id),
    created_at    INTEGER NOT NULL,
    started_at    INTEGER,
    ended_at      INTEGER
) STRICT;
CREATE INDEX turns_of ON turns (session_id, place);
CREATE UNIQUE INDEX turns_key ON turns (session_id, key) WHERE key IS NOT NULL;
CREATE INDEX turns_keyed ON turns (created_at) WHERE key IS NOT NULL;
-- One live turn per session, whatever the code above believes.
CREATE UNIQUE INDEX turns_live ON turns (session_id) WHERE state IN ('running', 'waiting');
CREATE INDEX turns_queue ON turns (session_id, place) WHERE state = 'queued';
CREATE INDEX turns_arrival ON turns (created_at) WHERE state = 'queued';
CREATE INDEX turns_unremembered ON turns (session_id)
    WHERE memory_scope IS NOT NULL AND segment_id IS NULL AND undone IS NULL;
CREATE INDEX turns_segment ON turns (segment_id) WHERE segment_id IS NOT NULL;

-- One small row for each turn that runs, so that a step, or a tick for hundreds of turns, touches few
-- pages.
CREATE TABLE streams (
    turn_id       TEXT PRIMARY KEY REFERENCES turns (id),
    session_id    TEXT NOT NULL,
    step          INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    last_seq      INTEGER NOT NULL DEFAULT 0,
    first_delta   INTEGER,
    last_delta    INTEGER
) STRICT, WITHOUT ROWID;

-- A log in order of time, swept from its old end; `previous` chains the deltas of one attempt.
CREATE TABLE deltas (
    id            INTEGER PRIMARY KEY,
    turn_id       TEXT NOT NULL,
    first_seq     INTEGER NOT NULL,
    last_seq      INTEGER NOT NULL,
    previous      INTEGER,
    body          TEXT NOT NULL             -- JSON
) STRICT;

CREATE TABLE tool_calls (
    session_id    TEXT NOT NULL REFERENCES sessions (id),
    id            TEXT NOT NULL,
    turn_id       TEXT NOT NULL,
    ordinal       INTEGER NOT NULL,         -- among the calls of its turn
    name          TEXT NOT NULL,
    arguments     TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('requested', 'waiting', 'running', 'done', 'failed',
                      'denied', 'cancelled', 'unknown')),
    result        TEXT,                     -- JSON parts, until they stand in a message
    started_at    INTEGER,
    ended_at      INTEGER,
    PRIMARY KEY (session_id, id)
) STRICT;
CREATE INDEX tool_calls_of ON tool_calls (turn_id, ordinal);

CREATE TABLE approvals (
    id            TEXT PRIMARY KEY,
    session_id    TEXT NOT NULL REFERENCES sessions (id),
    turn_id       TEXT NOT NULL,
    call_id       TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('approval', 'question')),
    arguments     BLOB NOT NULL,            -- hash of what exactly would run
    directory     TEXT,
    workspace     TEXT,
    question      TEXT NOT NULL,            -- JSON
    state         TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'answered',
                      'expired', 'void')),
    answer        TEXT,                     -- JSON
    asked_at      INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    answered_at   INTEGER,
    answered_by   TEXT,
    answered_on   TEXT                      -- the route it was answered from
) STRICT;
CREATE UNIQUE INDEX approvals_pending ON approvals (session_id, call_id) WHERE state = 'pending';
CREATE INDEX approvals_of ON approvals (session_id);
CREATE INDEX approvals_due ON approvals (expires_at) WHERE state = 'pending';

CREATE TABLE approval_rules (
    id            TEXT PRIMARY KEY,
    user_id       TEXT NOT NULL REFERENCES users (id),
    session_id    TEXT REFERENCES sessions (id), -- empty: in every session
    tool          TEXT NOT NULL,
    pattern       TEXT,
    decision      TEXT NOT NULL CHECK (decision IN ('allow', 'ask', 'deny')),
    created_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX approval_rules_of ON approval_rules (user_id, session_id);
CREATE INDEX approval_rules_session ON approval_rules (session_id);

-- Session leases are named `session:ID`; their token stands in sessions too, where writes check it.
-- A row stays when its lease is released, so that the token never goes back.
CREATE TABLE leases (
    name          TEXT PRIMARY KEY,
    token         INTEGER NOT NULL,
    holder        TEXT,
    since         INTEGER NOT NULL,
    until         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Completed turns on their way to long-term memory; a turn's own columns are the marks.
CREATE TABLE memory_segments (
    id            TEXT PRIMARY KEY,         -- also the provider's idempotency key
    session_id    TEXT NOT NULL,
    user_id       TEXT NOT NULL,
    scope         TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('pending', 'committed', 'withdrawn')),
    tries         INTEGER NOT NULL DEFAULT 0,
    due_at        INTEGER NOT NULL,
    error         TEXT,
    created_at    INTEGER NOT NULL,
    committed_at  INTEGER
) STRICT;
CREATE INDEX memory_segments_due ON memory_segments (due_at) WHERE state = 'pending';
CREATE INDEX memory_segments_of ON memory_segments (session_id);

-- Content-addressed; a row per user who may read it, the bytes once on disk.
CREATE TABLE blobs (
    user_id       TEXT NOT NULL REFERENCES users (id),
    id            TEXT NOT NULL,            -- sha256
    media_type    TEXT NOT NULL,
    size          INTEGER NOT NULL,
    used_at       INTEGER NOT NULL,         -- stored or named last: an unnamed one is kept for a day
    PRIMARY KEY (user_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX blobs_id ON blobs (id);

CREATE TABLE session_blobs (
    session_id    TEXT NOT NULL REFERENCES sessions (id),
    blob_id       TEXT NOT NULL,
    PRIMARY KEY (session_id, blob_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_blobs_blob ON session_blobs (blob_id);

-- What a platform delivered, before it is acknowledged. The ids outlive the bodies, by retention.
CREATE TABLE inbox (
    channel       TEXT NOT NULL,
    external_id   TEXT NOT NULL,
    arrival       INTEGER NOT NULL,         -- order within the channel
    route         TEXT NOT NULL,
    body          TEXT,                     -- JSON, until handled
    turn_id       TEXT,
    received_at   INTEGER NOT NULL,
    handled_at    INTEGER,
    PRIMARY KEY (channel, external_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_open ON inbox (channel, route, arrival) WHERE handled_at IS NULL;
CREATE INDEX inbox_handled ON inbox (handled_at) WHERE handled_at IS NOT NULL;

CREATE TABLE outbox (
    id            TEXT PRIMARY KEY,         -- also the client key, where the platform takes one
    user_id       TEXT NOT NULL,
    route         TEXT NOT NULL,
    ordinal       INTEGER NOT NULL,         -- order within the route
    turn_id       TEXT,
    body          TEXT NOT NULL,            -- JSON
    state         TEXT NOT NULL CHECK (state IN ('pending', 'sent', 'failed')),
    tries         INTEGER NOT NULL DEFAULT 0,
    due_at        INTEGER NOT NULL,
    external_id   TEXT,
    error         TEXT,
    created_at    INTEGER NOT NULL,
    sent_at       INTEGER
) STRICT;
CREATE UNIQUE INDEX outbox_order ON outbox (route, ordinal);
CREATE INDEX outbox_due ON outbox (route, ordinal) WHERE state = 'pending';

CREATE TABLE schedules (
    id            TEXT PRIMARY KEY,
    user_id       TEXT NOT NULL REFERENCES users (id),
    name          TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('cron', 'once', 'every')),
    spec          TEXT NOT NULL,
    time_zone     TEXT NOT NULL,
    input         TEXT NOT NULL,            -- JSON parts
    session_id    TEXT REFERENCES sessions (id),
    route         TEXT,
    missed        TEXT NOT NULL CHECK (missed IN ('once', 'skip')),
    paused        INTEGER NOT NULL DEFAULT 0,
    due_at        INTEGER,
    created_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX schedules_of ON schedules (session_id);
CREATE INDEX schedules_due ON schedules (due_at) WHERE paused = 0 AND due_at IS NOT NULL;

-- The key makes a second run of one tick impossible.
CREATE TABLE schedule_runs (
    schedule_id   TEXT NOT NULL REFERENCES schedules (id),
    tick          INTEGER NOT NULL,
    turn_id       TEXT,
    created_at    INTEGER NOT NULL,
    PRIMARY KEY (schedule_id, tick)
) STRICT, WITHOUT ROWID;

CREATE TABLE servers (
    id            TEXT PRIMARY KEY,
    host          TEXT NOT NULL,
    pid           INTEGER NOT NULL,
    version       TEXT NOT NULL,
    address       TEXT,
    started_at    INTEGER NOT NULL,
    seen_at       INTEGER NOT NULL,
    draining      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- By what caused it (a turn, a compaction) and by model. Outlives the session: caps count it.
CREATE TABLE usage (
    source        TEXT NOT NULL,
    provider      TEXT NOT NULL,
    model         TEXT NOT NULL,
    user_id       TEXT NOT NULL,
    session_id    TEXT NOT NULL,
    calls         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost          INTEGER NOT NULL,         -- of the calls whose price is known
    unpriced      INTEGER NOT NULL,         -- calls whose price is not
    at            INTEGER NOT NULL,
    PRIMARY KEY (source, provider, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_when ON usage (user_id, at);
CREATE INDEX usage_of ON usage (session_id);

-- What each revision of a session did: names and states only, the content stands in its own rows. In
-- order of time, like messages: clustered by session, every write would split a page of its own.
CREATE TABLE events (
    seq           INTEGER PRIMARY KEY,
    session_id    TEXT NOT NULL REFERENCES sessions (id),
    revision      INTEGER NOT NULL,
    body          TEXT NOT NULL,            -- JSON
    at            INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_of ON events (session_id, revision);

-- Words are made in Python (search.py). `scope` holds whose and what it is, so that a search by one
-- user walks only that user's messages.
CREATE VIRTUAL TABLE search USING fts5 (
    scope, words, content = '', contentless_delete = 1, prefix = '2 3',
    tokenize = "unicode61 remove_diacritics 2"
);

CREATE TABLE search_progress (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    indexed       INTEGER NOT NULL          -- messages up to this seq are in the index
) STRICT;
INSERT INTO search_progress VALUES (1, 0);

-- Joins are CROSS where the planner, without statistics, would begin at the wrong end.

-- Sessions and turns as they are read: deleted ones are gone, the live turn (turns_live), its lease
-- and the queue (turns_queue) stand beside the stored columns. No message is read.
CREATE VIEW session_rows AS
SELECT s.id, s.user_id, s.origin, s.title, s.title_by, s.pinned, s.archived, s.project, s.parent,
    s.parent_kind, s.config, s.signature, s.token, s.revision, s.epoch, s.head, s.seen, s.answered,
    s.messages, s.turns, s.input_tokens, s.output_tokens, s.cost, s.unpriced,
    s.created_at, s.active_at, s.ended_at,
    (SELECT state FROM turns WHERE session_id = s.id AND state IN ('running', 'waiting')) AS live,
    (SELECT until FROM leases WHERE name = 'session:' || s.id AND holder IS NOT NULL) AS held_until,
    (SELECT count(*) FROM turns WHERE session_id = s.id AND state = 'queued') AS queued
FROM sessions s
WHERE s.deleted_at IS NULL;

CREATE VIEW turn_rows AS
SELECT s.user_id, t.id, t.session_id, t.state, t.steer, t.route, t.options, t.ephemeral, t.input,
    t.message_id, coalesce(r.step, t.step), coalesce(r.attempt, t.attempt), t.reason, t.undone,
    t.created_at, t.started_at, t.ended_at, t.start, t.place
FROM turns t
    CROSS JOIN sessions s ON s.id = t.session_id
    LEFT JOIN streams r ON r.turn_id = t.id
WHERE s.deleted_at IS NULL;
