-- Times are integer milliseconds since 1970 (UTC), documents JSON text, money micro-cents. Portable to PostgreSQL.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE api_key (
    id           TEXT PRIMARY KEY,
    account      TEXT NOT NULL,
    name         TEXT NOT NULL,
    prefix       TEXT NOT NULL,
    digest       TEXT NOT NULL UNIQUE,
    member       INTEGER NOT NULL,
    scopes       TEXT NOT NULL,
    budget_cents INTEGER,
    created_at   INTEGER NOT NULL,
    suspended_at INTEGER,
    revoked_at   INTEGER
);

CREATE TABLE project (
    id         TEXT PRIMARY KEY,
    account    TEXT NOT NULL,
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL
);

-- `label` is the session that owns the chat, '' for the chat that tools share, NULL for a chat of its own.
CREATE TABLE chat (
    id         TEXT PRIMARY KEY,
    account    TEXT NOT NULL,
    project    TEXT,
    label      TEXT,
    created_at INTEGER NOT NULL,
    retired_at INTEGER
);
CREATE UNIQUE INDEX chat_of_label ON chat (account, COALESCE(project, ''), label) WHERE label IS NOT NULL;

CREATE TABLE run (
    run_id             TEXT PRIMARY KEY,
    account            TEXT NOT NULL,
    key_id             TEXT NOT NULL,
    chat               TEXT NOT NULL,
    project            TEXT,
    status             TEXT NOT NULL,
    message            TEXT NOT NULL,
    output_config      TEXT,
    model              TEXT NOT NULL,
    output             TEXT,
    structured_output  TEXT,
    last_error         TEXT,
    last_error_message TEXT,
    steps              INTEGER NOT NULL DEFAULT 0,
    input_tokens       INTEGER NOT NULL DEFAULT 0,
    output_tokens      INTEGER NOT NULL DEFAULT 0,
    cost_microcents    INTEGER NOT NULL DEFAULT 0,
    attempt            INTEGER NOT NULL DEFAULT 0,
    restarts           INTEGER NOT NULL DEFAULT 0,
    last_event         INTEGER NOT NULL DEFAULT 0,
    checkpoint         TEXT,
    checkpoint_event   INTEGER NOT NULL DEFAULT 0,
    created_at         INTEGER NOT NULL,
    started_at         INTEGER,
    ended_at           INTEGER
);
-- A chat has at most one active turn (docs/api/runs.md): the database holds it, not a check beforehand.
CREATE UNIQUE INDEX run_one_active ON run (chat) WHERE status IN ('queued', 'running', 'cancelling');
CREATE INDEX run_active ON run (created_at) WHERE status IN ('queued', 'running', 'cancelling');

CREATE TABLE run_event (
    run_id     TEXT NOT NULL,
    id         INTEGER NOT NULL,
    type       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    payload    TEXT NOT NULL,
    PRIMARY KEY (run_id, id)
);

CREATE TABLE job (
    job_id     TEXT PRIMARY KEY,
    account    TEXT NOT NULL,
    key_id     TEXT NOT NULL,
    chat       TEXT NOT NULL,
    run_id     TEXT,
    tool       TEXT NOT NULL,
    family     TEXT NOT NULL,
    input      TEXT NOT NULL,
    status     TEXT NOT NULL,
    attempt    INTEGER NOT NULL DEFAULT 0,
    progress   TEXT NOT NULL DEFAULT '{"done": 0, "total": null, "message": ""}',
    error      TEXT,
    content    TEXT NOT NULL DEFAULT '[]',
    data       TEXT,
    kind       TEXT,
    files      TEXT NOT NULL DEFAULT '[]',
    restarts   INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at   INTEGER
);
CREATE INDEX job_active ON job (created_at) WHERE status IN ('queued', 'running', 'cancelling');

CREATE TABLE idempotency (
    account TEXT NOT NULL,
    kind    TEXT NOT NULL,
    address TEXT NOT NULL,
    utc_day TEXT NOT NULL,
    key     TEXT NOT NULL,
    target  TEXT NOT NULL,
    PRIMARY KEY (account, kind, address, utc_day, key)
);

CREATE TABLE upload (
    id         TEXT PRIMARY KEY,
    account    TEXT NOT NULL,
    file_name  TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    sha256     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
);

CREATE TABLE file (
    chat        TEXT NOT NULL,
    path        TEXT NOT NULL,
    file_name   TEXT NOT NULL,
    name        TEXT,
    kind        TEXT NOT NULL,
    media_type  TEXT NOT NULL,
    size_bytes  INTEGER NOT NULL,
    sha256      TEXT NOT NULL,
    updated_at  INTEGER NOT NULL,
    run_id      TEXT,
    output_id   TEXT,
    output_type TEXT,
    PRIMARY KEY (chat, path)
);

-- The full-text index of workspace files. Plain tables: an index without its own content would have to be told the
-- old tokens at each change, and would be corrupted by an upgrade that folds words another way.

CREATE TABLE file_text (
    id   INTEGER PRIMARY KEY,
    chat TEXT NOT NULL,
    path TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (chat, path)
);

-- `words` are our own tokens (formats/normalization.py), one blank apart: the ascii tokenizer keeps them whole. `scope` is the
-- chat, as one token: a common word is then looked up among the files of one chat, not of all.
CREATE VIRTUAL TABLE file_words USING fts5 (scope, words, tokenize = 'ascii', prefix = '2 3');
