-- min_version: 7
-- The whole schema: PostgreSQL came with version 7. Its tables and columns are those of SQLite, so that
-- rows can move from the one to the other; what differs says why.
--
-- Times are milliseconds since 1970 UTC, costs nano-dollars, JSON is text and kept byte for byte,
-- truth is 0 or 1. Text is compared by its bytes, whatever the database's own order is.

CREATE TABLE users (
    id            TEXT COLLATE "C" PRIMARY KEY,
    name          TEXT COLLATE "C" NOT NULL UNIQUE,
    role          TEXT COLLATE "C" NOT NULL CHECK (role IN ('admin', 'member')),
    password      TEXT COLLATE "C",                     -- argon2, empty until one is set
    time_zone     TEXT COLLATE "C" NOT NULL,
    locale        TEXT COLLATE "C" NOT NULL,
    created_at    BIGINT NOT NULL,
    disabled_at   BIGINT
);

-- A browser that signed in, or a one-time link that has not been used yet.
CREATE TABLE sign_ins (
    id            TEXT COLLATE "C" PRIMARY KEY,
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    kind          TEXT COLLATE "C" NOT NULL CHECK (kind IN ('link', 'browser')),
    hash          BYTEA NOT NULL UNIQUE,
    agent         TEXT COLLATE "C",
    created_at    BIGINT NOT NULL,
    seen_at       BIGINT,
    expires_at    BIGINT NOT NULL,
    revoked_at    BIGINT
);
CREATE INDEX sign_ins_of ON sign_ins (user_id);

CREATE TABLE api_tokens (
    id            TEXT COLLATE "C" PRIMARY KEY,
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    name          TEXT COLLATE "C" NOT NULL,
    hash          BYTEA NOT NULL UNIQUE,
    scopes        TEXT COLLATE "C" NOT NULL,            -- JSON list
    created_at    BIGINT NOT NULL,
    used_at       BIGINT,
    expires_at    BIGINT,
    revoked_at    BIGINT
);
CREATE INDEX api_tokens_of ON api_tokens (user_id);

-- user_id '' is the server itself, here and in secrets.
CREATE TABLE settings (
    user_id       TEXT COLLATE "C" NOT NULL,
    key           TEXT COLLATE "C" NOT NULL,
    value         TEXT COLLATE "C" NOT NULL,            -- JSON
    updated_at    BIGINT NOT NULL,
    PRIMARY KEY (user_id, key)
);

CREATE TABLE secrets (
    user_id       TEXT COLLATE "C" NOT NULL,
    name          TEXT COLLATE "C" NOT NULL,
    sealed        BYTEA NOT NULL,            -- nonce and ciphertext; the key is not in here
    updated_at    BIGINT NOT NULL,
    PRIMARY KEY (user_id, name)
);

-- Room is left on the pages of what is rewritten all the time, here and below: a new version next to
-- the old one needs no new entry in any index.
-- Every write raises `revision` by one, in the statement that also checks `token`.
CREATE TABLE sessions (
    id            TEXT COLLATE "C" PRIMARY KEY,
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    origin        TEXT COLLATE "C" NOT NULL,
    title         TEXT COLLATE "C",
    title_by      TEXT COLLATE "C" CHECK (title_by IN ('person', 'model')),
    pinned        BIGINT NOT NULL DEFAULT 0,
    archived      BIGINT NOT NULL DEFAULT 0,
    project       TEXT COLLATE "C",
    parent        TEXT COLLATE "C",                     -- JSON: session, kind, message
    parent_kind   TEXT COLLATE "C" CHECK (parent_kind IN ('branch', 'subagent')),
    parent_id     TEXT COLLATE "C" GENERATED ALWAYS AS (parent::json ->> 'session') STORED,
    config        TEXT COLLATE "C",                     -- JSON, without the credential
    signature     TEXT COLLATE "C",
    token         BIGINT NOT NULL DEFAULT 0,
    revision      BIGINT NOT NULL DEFAULT 0,
    epoch         BIGINT NOT NULL DEFAULT 0,
    head          BIGINT NOT NULL DEFAULT 0,
    seen          BIGINT NOT NULL DEFAULT 0,
    answered      BIGINT NOT NULL DEFAULT 0,
    messages      BIGINT NOT NULL DEFAULT 0,
    turns         BIGINT NOT NULL DEFAULT 0,
    input_tokens  BIGINT NOT NULL DEFAULT 0,
    output_tokens BIGINT NOT NULL DEFAULT 0,
    cost          BIGINT NOT NULL DEFAULT 0,
    unpriced      BIGINT NOT NULL DEFAULT 0,
    context_tokens BIGINT NOT NULL DEFAULT 0, -- what its model was last given and answered; 0 is unknown
    created_at    BIGINT NOT NULL,
    active_at     BIGINT NOT NULL,
    ended_at      BIGINT,
    deleted_at    BIGINT
) WITH (fillfactor = 70);
CREATE INDEX sessions_recent ON sessions (user_id, archived, active_at DESC, id DESC)
    WHERE deleted_at IS NULL;
CREATE INDEX sessions_children ON sessions (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX sessions_deleted ON sessions (deleted_at) WHERE deleted_at IS NOT NULL;

-- The system prompt and tool schemas a session sends, built once per configuration. Apart from
-- sessions, so that raising a revision does not rewrite them.
CREATE TABLE prompts (
    session_id    TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
    revision      BIGINT NOT NULL,
    signature     TEXT COLLATE "C" NOT NULL,
    system        TEXT COLLATE "C" NOT NULL,
    tools         TEXT COLLATE "C" NOT NULL,            -- JSON list
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (session_id, revision)
);

-- Where messages come from, and the session that is current there.
CREATE TABLE routes (
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    key           TEXT COLLATE "C" NOT NULL,
    session_id    TEXT COLLATE "C" REFERENCES sessions (id),
    policy        TEXT COLLATE "C" NOT NULL DEFAULT '{}', -- JSON: when it resets, who is heard in a group
    updated_at    BIGINT NOT NULL,
    sender        TEXT COLLATE "C",         -- who alone is at the other end of it, by the platform's id
    PRIMARY KEY (user_id, key)
);
CREATE INDEX routes_to ON routes (session_id);

CREATE TABLE pairings (
    channel       TEXT COLLATE "C" NOT NULL,
    sender        TEXT COLLATE "C" NOT NULL,
    user_id       TEXT COLLATE "C" REFERENCES users (id),
    state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending', 'approved', 'blocked')),
    code_hash     BYTEA,
    name          TEXT COLLATE "C",
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT,
    decided_at    BIGINT,
    decided_by    TEXT COLLATE "C",
    PRIMARY KEY (channel, sender)
);

-- `seq` names a message to the search index. A message is part of the history in the epochs from
-- `born` up to, and without, `gone`.
CREATE TABLE messages (
    seq           BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    id            TEXT COLLATE "C" NOT NULL UNIQUE,
    session_id    TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
    position      BIGINT NOT NULL,
    revision      BIGINT NOT NULL,
    born          BIGINT NOT NULL,
    gone          BIGINT,
    turn_id       TEXT COLLATE "C",
    role          TEXT COLLATE "C" NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'note')),
    partial       BIGINT NOT NULL DEFAULT 0,
    pinned        BIGINT NOT NULL DEFAULT 0, -- kept by compactions
    parts         TEXT COLLATE "C" NOT NULL,            -- JSON
    created_at    BIGINT NOT NULL
);
CREATE INDEX messages_of ON messages (session_id, gone, position);

-- Every rewrite of a history opens an epoch. The key lets only one do so.
CREATE TABLE epochs (
    session_id    TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
    epoch         BIGINT NOT NULL,
    kind          TEXT COLLATE "C" NOT NULL CHECK (kind IN ('undo', 'edit', 'clear', 'compaction', 'restore')),
    revision      BIGINT NOT NULL,
    detail        TEXT COLLATE "C" NOT NULL DEFAULT '{}', -- JSON: of a compaction, its summary, tokens, cost, model
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (session_id, epoch)
);

CREATE TABLE turns (
    id            TEXT COLLATE "C" PRIMARY KEY,
    session_id    TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
    state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('queued', 'running', 'waiting', 'completed',
                      'failed', 'cancelled', 'interrupted', 'removed', 'merged')),
    place         BIGINT NOT NULL,         -- in the queue
    steer         BIGINT NOT NULL DEFAULT 0,
    route         TEXT COLLATE "C",
    options       TEXT COLLATE "C" NOT NULL,            -- JSON
    ephemeral     BIGINT NOT NULL DEFAULT 0,
    key           TEXT COLLATE "C",                     -- idempotency, emptied by retention
    fingerprint   BYTEA NOT NULL,            -- of the body the key stands for
    input         TEXT COLLATE "C" NOT NULL,            -- JSON parts
    message_id    TEXT COLLATE "C",                     -- where the input stands in history, once started
    start         BIGINT,                  -- position of its first message
    step          BIGINT NOT NULL DEFAULT 0, -- while it runs, its stream has these two
    attempt       BIGINT NOT NULL DEFAULT 0,
    reason        TEXT COLLATE "C",
    continued     BIGINT NOT NULL DEFAULT 0, -- how often it went on by itself after a crash
    cancel_at     BIGINT,                  -- when somebody asked for it to stop
    undone        BIGINT,                  -- the epoch that took it back
    memory_scope  TEXT COLLATE "C",                     -- set at completion: it may be committed to this scope
    segment_id    TEXT COLLATE "C",
    created_at    BIGINT NOT NULL,
    started_at    BIGINT,
    ended_at      BIGINT
);
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
-- `token` is the session's, and raised with it: a tick is fenced by the row that it has to lock anyway,
-- and never waits for whoever writes to a session.
CREATE TABLE streams (
    turn_id       TEXT COLLATE "C" PRIMARY KEY REFERENCES turns (id),
    session_id    TEXT COLLATE "C" NOT NULL,
    token         BIGINT NOT NULL,
    step          BIGINT NOT NULL,
    attempt       BIGINT NOT NULL,
    last_seq      BIGINT NOT NULL DEFAULT 0,
    first_delta   BIGINT,
    last_delta    BIGINT
) WITH (fillfactor = 50);
CREATE INDEX streams_of ON streams (session_id);

-- A log in order of time, swept from its old end; `previous` chains the deltas of one attempt.
CREATE TABLE deltas (
    id            BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    turn_id       TEXT COLLATE "C" NOT NULL,
    first_seq     BIGINT NOT NULL,
    last_seq      BIGINT NOT NULL,
    previous      BIGINT,
    body          TEXT COLLATE "C" NOT NULL             -- JSON
);

CREATE TABLE tool_calls (
    session_id    TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
    id            TEXT COLLATE "C" NOT NULL,
    turn_id       TEXT COLLATE "C" NOT NULL,
    ordinal       BIGINT NOT NULL,         -- among the calls of its turn
    name          TEXT COLLATE "C" NOT NULL,
    arguments     TEXT COLLATE "C" NOT NULL,
    state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('requested', 'waiting', 'running', 'done', 'failed',
                      'denied', 'cancelled', 'unknown')),
    result        TEXT COLLATE "C",                     -- JSON parts, until they stand in a message
    started_at    BIGINT,
    ended_at      BIGINT,
    PRIMARY KEY (session_id, id)
);
CREATE INDEX tool_calls_of ON tool_calls (turn_id, ordinal);

CREATE TABLE approvals (
    id            TEXT COLLATE "C" PRIMARY KEY,
    session_id    TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
    turn_id       TEXT COLLATE "C" NOT NULL,
    call_id       TEXT COLLATE "C" NOT NULL,
    kind          TEXT COLLATE "C" NOT NULL CHECK (kind IN ('approval', 'question')),
    arguments     BYTEA NOT NULL,            -- hash of what exactly would run
    directory     TEXT COLLATE "C",
    workspace     TEXT COLLATE "C",
    question      TEXT COLLATE "C" NOT NULL,            -- JSON
    state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'answered',
                      'expired', 'void')),
    answer        TEXT COLLATE "C",                     -- JSON
    asked_at      BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    answered_at   BIGINT,
    answered_by   TEXT COLLATE "C",
    answered_on   TEXT COLLATE "C"                      -- the route it was answered from
);
CREATE UNIQUE INDEX approvals_pending ON approvals (session_id, call_id) WHERE state = 'pending';
CREATE INDEX approvals_of ON approvals (session_id);
CREATE INDEX approvals_due ON approvals (expires_at) WHERE state = 'pending';

CREATE TABLE approval_rules (
    id            TEXT COLLATE "C" PRIMARY KEY,
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    session_id    TEXT COLLATE "C" REFERENCES sessions (id), -- empty: in every session
    tool          TEXT COLLATE "C" NOT NULL,
    pattern       TEXT COLLATE "C",
    decision      TEXT COLLATE "C" NOT NULL CHECK (decision IN ('allow', 'ask', 'deny')),
    created_at    BIGINT NOT NULL
);
CREATE INDEX approval_rules_of ON approval_rules (user_id, session_id);
CREATE INDEX approval_rules_session ON approval_rules (session_id);

-- Session leases are named `session:ID`; their token stands in sessions too, where writes check it.
-- A row stays when its lease is released, so that the token never goes back.
CREATE TABLE leases (
    name          TEXT COLLATE "C" PRIMARY KEY,
    token         BIGINT NOT NULL,
    holder        TEXT COLLATE "C",
    since         BIGINT NOT NULL,
    until         BIGINT NOT NULL
) WITH (fillfactor = 50);

-- Completed turns on their way to long-term memory; a turn's own columns are the marks.
CREATE TABLE memory_segments (
    id            TEXT COLLATE "C" PRIMARY KEY,         -- also the provider's idempotency key
    session_id    TEXT COLLATE "C" NOT NULL,
    user_id       TEXT COLLATE "C" NOT NULL,
    scope         TEXT COLLATE "C" NOT NULL,
    state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending', 'committed', 'withdrawn')),
    tries         BIGINT NOT NULL DEFAULT 0,
    due_at        BIGINT NOT NULL,
    error         TEXT COLLATE "C",
    created_at    BIGINT NOT NULL,
    committed_at  BIGINT
);
ALTER TABLE turns ADD FOREIGN KEY (segment_id) REFERENCES memory_segments (id);
CREATE INDEX memory_segments_due ON memory_segments (due_at) WHERE state = 'pending';
CREATE INDEX memory_segments_of ON memory_segments (session_id);

-- Content-addressed; a row per user who may read it, the bytes once.
CREATE TABLE blobs (
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    id            TEXT COLLATE "C" NOT NULL,            -- sha256
    media_type    TEXT COLLATE "C" NOT NULL,
    size          BIGINT NOT NULL,
    used_at       BIGINT NOT NULL,         -- stored or named last: an unnamed one is kept for a day
    PRIMARY KEY (user_id, id)
);
CREATE INDEX blobs_id ON blobs (id);

CREATE TABLE blob_pieces (
    blob_id       TEXT COLLATE "C" NOT NULL,
    number        BIGINT NOT NULL,
    data          BYTEA NOT NULL,
    PRIMARY KEY (blob_id, number)
);
-- Most of them are compressed already.
ALTER TABLE blob_pieces ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE session_blobs (
    session_id    TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
    blob_id       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (session_id, blob_id)
);
CREATE INDEX session_blobs_blob ON session_blobs (blob_id);

-- What a platform delivered, before it is acknowledged. The ids outlive the bodies, by retention.
CREATE TABLE inbox (
    channel       TEXT COLLATE "C" NOT NULL,
    external_id   TEXT COLLATE "C" NOT NULL,            -- of the delivery
    message_id    TEXT COLLATE "C",                     -- of the message delivered, for replies and edits
    arrival       BIGINT NOT NULL,         -- order within the channel
    route         TEXT COLLATE "C" NOT NULL,
    body          TEXT COLLATE "C",                     -- JSON, until handled
    turn_id       TEXT COLLATE "C",
    received_at   BIGINT NOT NULL,
    handled_at    BIGINT,
    PRIMARY KEY (channel, external_id)
);
CREATE UNIQUE INDEX inbox_order ON inbox (channel, arrival);
CREATE INDEX inbox_open ON inbox (channel, route, arrival) WHERE handled_at IS NULL;
CREATE INDEX inbox_handled ON inbox (handled_at) WHERE handled_at IS NOT NULL;

CREATE TABLE outbox (
    id            TEXT COLLATE "C" PRIMARY KEY,         -- also the client key, where the platform takes one
    user_id       TEXT COLLATE "C" NOT NULL,
    route         TEXT COLLATE "C" NOT NULL,
    ordinal       BIGINT NOT NULL,         -- order within the route
    session_id    TEXT COLLATE "C",
    turn_id       TEXT COLLATE "C",
    body          TEXT COLLATE "C" NOT NULL,            -- JSON
    state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending', 'sent', 'failed')),
    tries         BIGINT NOT NULL DEFAULT 0,
    due_at        BIGINT NOT NULL,
    external_id   TEXT COLLATE "C",
    error         TEXT COLLATE "C",
    created_at    BIGINT NOT NULL,
    sent_at       BIGINT
);
CREATE UNIQUE INDEX outbox_order ON outbox (route, ordinal);
CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 'pending';
CREATE INDEX outbox_of ON outbox (session_id);
CREATE INDEX outbox_sent ON outbox (route, external_id) WHERE external_id IS NOT NULL;

CREATE TABLE schedules (
    id            TEXT COLLATE "C" PRIMARY KEY,
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    name          TEXT COLLATE "C" NOT NULL,
    kind          TEXT COLLATE "C" NOT NULL CHECK (kind IN ('cron', 'once', 'every')),
    spec          TEXT COLLATE "C" NOT NULL,
    time_zone     TEXT COLLATE "C" NOT NULL,
    input         TEXT COLLATE "C" NOT NULL,            -- JSON parts
    config        TEXT COLLATE "C" NOT NULL DEFAULT '{}', -- JSON: which model and toolset
    session_id    TEXT COLLATE "C" REFERENCES sessions (id),
    route         TEXT COLLATE "C",
    missed        TEXT COLLATE "C" NOT NULL CHECK (missed IN ('once', 'skip')),
    paused        BIGINT NOT NULL DEFAULT 0,
    due_at        BIGINT,
    created_at    BIGINT NOT NULL
);
CREATE INDEX schedules_of ON schedules (session_id);
CREATE INDEX schedules_due ON schedules (due_at) WHERE paused = 0 AND due_at IS NOT NULL;

-- The key makes a second run of one tick impossible.
CREATE TABLE schedule_runs (
    schedule_id   TEXT COLLATE "C" NOT NULL REFERENCES schedules (id),
    tick          BIGINT NOT NULL,
    turn_id       TEXT COLLATE "C",
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (schedule_id, tick)
);

CREATE TABLE servers (
    id            TEXT COLLATE "C" PRIMARY KEY,
    host          TEXT COLLATE "C" NOT NULL,
    pid           BIGINT NOT NULL,
    version       TEXT COLLATE "C" NOT NULL,
    address       TEXT COLLATE "C",
    started_at    BIGINT NOT NULL,
    seen_at       BIGINT NOT NULL,
    draining      BIGINT NOT NULL DEFAULT 0
);

-- By what caused it (a turn, a compaction), by model and by day. Outlives the session: caps count it.
CREATE TABLE usage (
    seq           BIGINT GENERATED BY DEFAULT AS IDENTITY,
    source        TEXT COLLATE "C" NOT NULL,
    provider      TEXT COLLATE "C" NOT NULL,
    model         TEXT COLLATE "C" NOT NULL,
    user_id       TEXT COLLATE "C" NOT NULL,
    session_id    TEXT COLLATE "C" NOT NULL,
    calls         BIGINT NOT NULL,
    input_tokens  BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    cost          BIGINT NOT NULL,         -- of the calls whose price is known
    unpriced      BIGINT NOT NULL,         -- calls whose price is not
    at            BIGINT NOT NULL
);
-- A turn that goes on another day is counted on both.
CREATE UNIQUE INDEX usage_by ON usage (source, provider, model, (at / 86400000));
CREATE INDEX usage_when ON usage (user_id, at);
CREATE INDEX usage_of ON usage (session_id);

-- What each revision of a session did: names and states only, the content stands in its own rows. In
-- order of time, like messages: clustered by session, every write would split a page of its own.
CREATE TABLE events (
    seq           BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    session_id    TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
    revision      BIGINT NOT NULL,
    body          TEXT COLLATE "C" NOT NULL,            -- JSON
    at            BIGINT NOT NULL
);
CREATE UNIQUE INDEX events_of ON events (session_id, revision);

-- Words are made in Python (lexemes.py), and so are those that say whose and what it is.
CREATE TABLE search (
    seq           BIGINT PRIMARY KEY,       -- the message's
    vector        TSVECTOR NOT NULL
);
CREATE INDEX search_words ON search USING gin (vector);

-- Messages that are not in the index yet. No number up to which all are: with several writers a lower one
-- may be committed after a higher one.
CREATE TABLE search_queue (
    seq           BIGINT PRIMARY KEY
);

CREATE FUNCTION queue_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_queue (seq) VALUES (new.seq);
    RETURN NULL;
END $$;
CREATE TRIGGER messages_to_search AFTER INSERT ON messages
FOR EACH ROW EXECUTE FUNCTION queue_for_search();

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
    t.message_id, coalesce(r.step, t.step) AS step, coalesce(r.attempt, t.attempt) AS attempt, t.reason, t.undone,
    t.created_at, t.started_at, t.ended_at, t.start, t.place
FROM turns t
    JOIN sessions s ON s.id = t.session_id
    LEFT JOIN streams r ON r.turn_id = t.id
WHERE s.deleted_at IS NULL;

-- Turns that may go on by themselves after a crash: the latest ones are looked at.
CREATE INDEX turns_interrupted ON turns (ended_at) WHERE state = 'interrupted';
-- Turns that wait for a person. Few, and looked through whenever there may be work.
CREATE INDEX turns_parked ON turns (session_id) WHERE state = 'waiting';
-- What one claim holds, should it have to ask again.
CREATE INDEX leases_held ON leases (holder) WHERE holder IS NOT NULL;
CREATE INDEX approvals_of_turn ON approvals (turn_id);

-- What the built-in memory knows of a user. One that is forgotten keeps its row, without its text.
-- `seq` names it to the index, and orders them.
CREATE TABLE facts (
    seq           BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    id            TEXT COLLATE "C" NOT NULL UNIQUE,
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    scope         TEXT COLLATE "C" NOT NULL,
    text          TEXT COLLATE "C" NOT NULL,
    kind          TEXT COLLATE "C" NOT NULL CHECK (kind IN ('fact', 'preference', 'instruction', 'event')),
    attribute     TEXT COLLATE "C",                     -- what it says, where only one such thing can be true
    trust         DOUBLE PRECISION NOT NULL,            -- 0 to 1
    session_id    TEXT COLLATE "C",
    turn_id       TEXT COLLATE "C",
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    superseded_by TEXT COLLATE "C",
    forgotten_at  BIGINT
);
CREATE INDEX facts_live ON facts (user_id, scope, seq)
    WHERE superseded_by IS NULL AND forgotten_at IS NULL;
CREATE INDEX facts_by_kind ON facts (user_id, scope, kind, seq)
    WHERE superseded_by IS NULL AND forgotten_at IS NULL;
CREATE INDEX facts_from ON facts (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX facts_superseded ON facts (superseded_by) WHERE superseded_by IS NOT NULL;

-- What was written once may not be written again.
CREATE TABLE facts_applied (
    user_id       TEXT COLLATE "C" NOT NULL,
    scope         TEXT COLLATE "C" NOT NULL,
    key           TEXT COLLATE "C" NOT NULL,            -- of a segment, or of a tool call
    applied_at    BIGINT NOT NULL,
    PRIMARY KEY (user_id, scope, key)
);

-- What facts are about.
CREATE TABLE entities (
    id            BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    user_id       TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    scope         TEXT COLLATE "C" NOT NULL,
    name          TEXT COLLATE "C" NOT NULL
);

-- Every name of an entity, its own among them.
CREATE TABLE entity_names (
    user_id       TEXT COLLATE "C" NOT NULL,
    scope         TEXT COLLATE "C" NOT NULL,
    folded        TEXT COLLATE "C" NOT NULL,            -- as names are compared
    name          TEXT COLLATE "C" NOT NULL,
    entity_id     BIGINT NOT NULL REFERENCES entities (id),
    PRIMARY KEY (user_id, scope, folded)
);
CREATE INDEX entity_names_of ON entity_names (entity_id);

CREATE TABLE fact_entities (
    fact_id       TEXT COLLATE "C" NOT NULL REFERENCES facts (id),
    ordinal       BIGINT NOT NULL,         -- 0: it says something of this one
    entity_id     BIGINT NOT NULL REFERENCES entities (id),
    PRIMARY KEY (fact_id, ordinal)
);
CREATE INDEX fact_entities_of ON fact_entities (entity_id, fact_id);

-- Like `search`; its words are a fact's text and the names of its entities. `words` says how many.
CREATE TABLE search_facts (
    seq           BIGINT PRIMARY KEY,       -- the fact's
    vector        TSVECTOR NOT NULL,
    words         BIGINT NOT NULL
);

CREATE VIEW fact_rows AS
SELECT f.user_id, f.scope, f.seq, f.id, f.text, f.kind,
    (SELECT coalesce(json_agg(e.name ORDER BY n.ordinal), '[]')::text
     FROM fact_entities n JOIN entities e ON e.id = n.entity_id
     WHERE n.fact_id = f.id) AS entities,
    f.attribute, f.trust, f.session_id, f.turn_id, f.created_at, f.updated_at, f.superseded_by,
    f.forgotten_at
FROM facts f;

-- The first pending segment of a session and scope goes before the others.
CREATE INDEX memory_segments_pending ON memory_segments (session_id, scope, created_at)
    WHERE state = 'pending';

-- What live facts mean, as a model puts it: an index like `search_facts`, made again where it is missing.
CREATE TABLE search_vectors (
    seq           BIGINT PRIMARY KEY,      -- the fact's
    model         TEXT COLLATE "C" NOT NULL,            -- vectors of different ones can't be compared
    vector        BYTEA NOT NULL
);

-- Whoever changes a fact, and whether they know of vectors or not: none stays that is not its own.
CREATE FUNCTION lose_vector() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM search_vectors WHERE seq = new.seq;
    RETURN NULL;
END $$;
CREATE TRIGGER facts_lose_vectors AFTER UPDATE OF text, superseded_by, forgotten_at ON facts
FOR EACH ROW EXECUTE FUNCTION lose_vector();

-- Tries that failed for the segment's own sake, and since when nobody tries it any more.
ALTER TABLE memory_segments ADD COLUMN failures BIGINT NOT NULL DEFAULT 0;
ALTER TABLE memory_segments ADD COLUMN rests_since BIGINT;

-- The names of a user's projects, and how many sessions each has.
CREATE INDEX sessions_by_project ON sessions (user_id, project, parent_kind)
    WHERE project IS NOT NULL AND archived = 0 AND deleted_at IS NULL;

CREATE VIEW session_details AS
SELECT *, (SELECT context_tokens FROM sessions s WHERE s.id = session_rows.id) AS context_tokens
FROM session_rows;

-- The model that answered last in a turn, by what was used for it (usage_by): of several at one
-- moment, the one that came later.
CREATE VIEW turn_details AS
SELECT *, (SELECT provider || '/' || model FROM usage u WHERE u.source = turn_rows.id
           ORDER BY u.at DESC, u.seq DESC LIMIT 1) AS model
FROM turn_rows;

-- How far a channel's platform was read, by names of the channel's own.
CREATE TABLE channel_cursors (
    channel       TEXT COLLATE "C" NOT NULL,
    name          TEXT COLLATE "C" NOT NULL,
    value         TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (channel, name)
);

-- What handling it will do, written down before it is done: after a crash it is not done twice.
ALTER TABLE inbox ADD COLUMN plan TEXT COLLATE "C";
CREATE INDEX inbox_messages ON inbox (channel, route, message_id) WHERE message_id IS NOT NULL;

-- What an entry was split into, before the first of it is sent.
CREATE TABLE outbox_pieces (
    outbox_id     TEXT COLLATE "C" NOT NULL,
    number        BIGINT NOT NULL,
    body          TEXT COLLATE "C" NOT NULL,            -- JSON
    external_id   TEXT COLLATE "C",
    sent_at       BIGINT,
    PRIMARY KEY (outbox_id, number)
);
CREATE INDEX outbox_pieces_sent ON outbox_pieces (external_id) WHERE external_id IS NOT NULL;
CREATE INDEX outbox_waiting ON outbox (route, ordinal) WHERE state = 'pending';
CREATE INDEX outbox_failed ON outbox (created_at) WHERE state = 'failed';
CREATE INDEX outbox_old ON outbox (sent_at) WHERE state = 'sent';
CREATE INDEX outbox_turn ON outbox (turn_id) WHERE turn_id IS NOT NULL;

-- The message that shows how far an answer has come, which the answer then takes the place of.
CREATE TABLE progress (
    turn_id       TEXT COLLATE "C" NOT NULL,
    route         TEXT COLLATE "C" NOT NULL,
    external_id   TEXT COLLATE "C" NOT NULL,
    shown_at      BIGINT NOT NULL,
    PRIMARY KEY (turn_id, route)
);

CREATE INDEX pairings_code ON pairings (code_hash) WHERE code_hash IS NOT NULL;
CREATE INDEX pairings_blocked ON pairings (channel) WHERE state = 'blocked';

CREATE INDEX schedules_by_user ON schedules (user_id);

-- What a provider was offered of sessions that were deleted, and has to forget.
CREATE INDEX memory_segments_withdrawn ON memory_segments (due_at)
    WHERE state = 'withdrawn' AND tries > 0;

-- Text without regard to case, by Unicode's rules: as near to Python's casefold() as the server comes.
DO $$
DECLARE
    body text := CASE
        WHEN current_setting('server_version_num')::int >= 180000
            THEN 'casefold($1 COLLATE "pg_unicode_fast")'
        WHEN current_setting('server_version_num')::int >= 170000
            THEN 'lower($1 COLLATE "pg_c_utf8")'
        ELSE 'lower($1 COLLATE "und-x-icu")' END;
BEGIN
    EXECUTE 'CREATE FUNCTION fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE '
        'RETURN (' || body || ') COLLATE "C"';
END $$;
