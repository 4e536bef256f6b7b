-- The schema that the steps up to 0015 of SQLite's make, which say what tables and columns are for. Texts are compared by
-- their bytes (COLLATE "C"), as SQLite does; `rowid` is the order of a table's rows, which SQLite has by itself.

CREATE TABLE meta (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value TEXT COLLATE "C" NOT NULL
);

CREATE TABLE api_key (
    id           TEXT COLLATE "C" PRIMARY KEY,
    account      TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    prefix       TEXT COLLATE "C" NOT NULL,
    digest       TEXT COLLATE "C" NOT NULL,
    member       BIGINT NOT NULL,
    scopes       TEXT COLLATE "C" NOT NULL,
    budget_cents BIGINT,
    created_at   BIGINT NOT NULL,
    suspended_at BIGINT,
    revoked_at   BIGINT,
    UNIQUE (digest)
);

CREATE TABLE project (
    id         TEXT COLLATE "C" PRIMARY KEY,
    account    TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE chat (
    id         TEXT COLLATE "C" PRIMARY KEY,
    account    TEXT COLLATE "C" NOT NULL,
    project    TEXT COLLATE "C",
    label      TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    retired_at BIGINT
);
CREATE UNIQUE INDEX chat_of_label ON chat (account, COALESCE(project, ''), label)
    WHERE label IS NOT NULL AND retired_at IS NULL;

CREATE TABLE run (
    rowid                  BIGINT GENERATED ALWAYS AS IDENTITY,
    run_id                 TEXT COLLATE "C" PRIMARY KEY,
    account                TEXT COLLATE "C" NOT NULL,
    key_id                 TEXT COLLATE "C" NOT NULL,
    chat                   TEXT COLLATE "C" NOT NULL,
    project                TEXT COLLATE "C",
    status                 TEXT COLLATE "C" NOT NULL,
    output_config          TEXT COLLATE "C",
    model                  TEXT COLLATE "C" NOT NULL,
    output                 TEXT COLLATE "C",
    structured_output      TEXT COLLATE "C",
    last_error             TEXT COLLATE "C",
    last_error_message     TEXT COLLATE "C",
    steps                  BIGINT NOT NULL DEFAULT 0,
    input_tokens           BIGINT NOT NULL DEFAULT 0,
    output_tokens          BIGINT NOT NULL DEFAULT 0,
    cost_microcents        BIGINT NOT NULL DEFAULT 0,
    attempt                BIGINT NOT NULL DEFAULT 0,
    restarts               BIGINT NOT NULL DEFAULT 0,
    last_event             BIGINT NOT NULL DEFAULT 0,
    checkpoint_event       BIGINT NOT NULL DEFAULT 0,
    created_at             BIGINT NOT NULL,
    started_at             BIGINT,
    ended_at               BIGINT,
    pool                   TEXT COLLATE "C" NOT NULL DEFAULT 'wallet',
    hold_microcents        BIGINT NOT NULL DEFAULT 0,
    attachments            TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    charge_hold_microcents BIGINT NOT NULL DEFAULT 0,
    message_chars          BIGINT NOT NULL DEFAULT 0,
    basis                  TEXT COLLATE "C"
);
CREATE UNIQUE INDEX run_one_active ON run (chat) WHERE status IN ('queued', 'running', 'cancelling');
CREATE INDEX run_held ON run (account, pool, key_id, hold_microcents) WHERE status IN ('queued', 'running', 'cancelling');
CREATE INDEX run_of_chat ON run (chat, rowid);
CREATE INDEX run_active ON run (status) WHERE status IN ('queued', 'running', 'cancelling');

CREATE TABLE run_event (
    run_id     TEXT COLLATE "C" NOT NULL,
    id         BIGINT NOT NULL,
    type       TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    payload    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run_id, id)
);

CREATE TABLE job (
    rowid                  BIGINT GENERATED ALWAYS AS IDENTITY,
    job_id                 TEXT COLLATE "C" PRIMARY KEY,
    account                TEXT COLLATE "C" NOT NULL,
    key_id                 TEXT COLLATE "C" NOT NULL,
    chat                   TEXT COLLATE "C" NOT NULL,
    run_id                 TEXT COLLATE "C",
    tool                   TEXT COLLATE "C" NOT NULL,
    family                 TEXT COLLATE "C" NOT NULL,
    input                  TEXT COLLATE "C" NOT NULL,
    status                 TEXT COLLATE "C" NOT NULL,
    attempt                BIGINT NOT NULL DEFAULT 0,
    progress               TEXT COLLATE "C" NOT NULL DEFAULT '{"done": 0, "total": null, "message": ""}',
    error                  TEXT COLLATE "C",
    content                TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    data                   TEXT COLLATE "C",
    kind                   TEXT COLLATE "C",
    files                  TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    restarts               BIGINT NOT NULL DEFAULT 0,
    created_at             BIGINT NOT NULL,
    started_at             BIGINT,
    ended_at               BIGINT,
    pool                   TEXT COLLATE "C" NOT NULL DEFAULT 'wallet',
    hold_microcents        BIGINT NOT NULL DEFAULT 0,
    follows                TEXT COLLATE "C",
    input_tokens           BIGINT NOT NULL DEFAULT 0,
    output_tokens          BIGINT NOT NULL DEFAULT 0,
    cost_microcents        BIGINT NOT NULL DEFAULT 0,
    charge_hold_microcents BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX job_held ON job (account, pool, key_id, hold_microcents) WHERE status IN ('queued', 'running', 'cancelling');
CREATE UNIQUE INDEX job_of_followed ON job (follows) WHERE follows IS NOT NULL;
CREATE INDEX job_by_run ON job (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX job_active ON job (status) WHERE status IN ('queued', 'running', 'cancelling');
CREATE INDEX job_of_chat ON job (chat, rowid);

CREATE TABLE idempotency (
    account TEXT COLLATE "C" NOT NULL,
    kind    TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    utc_day TEXT COLLATE "C" NOT NULL,
    key     TEXT COLLATE "C" NOT NULL,
    target  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (account, kind, address, utc_day, key)
);

CREATE TABLE upload (
    id         TEXT COLLATE "C" PRIMARY KEY,
    account    TEXT COLLATE "C" NOT NULL,
    file_name  TEXT COLLATE "C" NOT NULL,
    media_type TEXT COLLATE "C" NOT NULL,
    size_bytes BIGINT NOT NULL,
    sha256     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE file (
    chat        TEXT COLLATE "C" NOT NULL,
    path        TEXT COLLATE "C" NOT NULL,
    file_name   TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C",
    kind        TEXT COLLATE "C" NOT NULL,
    media_type  TEXT COLLATE "C" NOT NULL,
    size_bytes  BIGINT NOT NULL,
    sha256      TEXT COLLATE "C" NOT NULL,
    updated_at  BIGINT NOT NULL,
    run_id      TEXT COLLATE "C",
    output_id   TEXT COLLATE "C",
    output_type TEXT COLLATE "C",
    unread      BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (chat, path)
);

CREATE TABLE file_text (
    id   BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    chat TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    UNIQUE (chat, path)
);

CREATE TABLE account (
    id           TEXT COLLATE "C" PRIMARY KEY,
    state        TEXT COLLATE "C" NOT NULL DEFAULT 'active',
    state_until  BIGINT,
    plan         BIGINT NOT NULL DEFAULT 1,
    review_since BIGINT
);

CREATE TABLE rate_window (
    subject  TEXT COLLATE "C" NOT NULL,
    span     TEXT COLLATE "C" NOT NULL,
    begins   BIGINT NOT NULL,
    requests BIGINT NOT NULL,
    PRIMARY KEY (subject, span)
);

CREATE TABLE usage (
    account    TEXT COLLATE "C" NOT NULL,
    key_id     TEXT COLLATE "C" NOT NULL,
    month      TEXT COLLATE "C" NOT NULL,
    pool       TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    quantity   BIGINT NOT NULL,
    microcents BIGINT NOT NULL,
    PRIMARY KEY (account, key_id, month, pool, kind)
);

CREATE TABLE feedback (
    id         TEXT COLLATE "C" PRIMARY KEY,
    account    TEXT COLLATE "C" NOT NULL,
    summary    TEXT COLLATE "C" NOT NULL,
    category   TEXT COLLATE "C",
    impact     TEXT COLLATE "C",
    endpoint   TEXT COLLATE "C",
    error_code TEXT COLLATE "C",
    request_id TEXT COLLATE "C",
    status     TEXT COLLATE "C" NOT NULL DEFAULT 'open',
    reply      TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    replied_at BIGINT
);
CREATE INDEX feedback_by_time ON feedback (account, created_at);

CREATE TABLE media (
    id         TEXT COLLATE "C" PRIMARY KEY,
    account    TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    source     TEXT COLLATE "C" NOT NULL,
    url        TEXT COLLATE "C",
    file_name  TEXT COLLATE "C" NOT NULL,
    media_type TEXT COLLATE "C" NOT NULL,
    size_bytes BIGINT NOT NULL,
    sha256     TEXT COLLATE "C" NOT NULL,
    duration_s DOUBLE PRECISION,
    transcript TEXT COLLATE "C",
    created_at BIGINT NOT NULL
);

CREATE TABLE landing_page (
    id         TEXT COLLATE "C" PRIMARY KEY,
    account    TEXT COLLATE "C" NOT NULL,
    url        TEXT COLLATE "C" NOT NULL,
    labels     TEXT COLLATE "C" NOT NULL DEFAULT '{}',
    version    BIGINT NOT NULL DEFAULT 1,
    created_at BIGINT NOT NULL,
    UNIQUE (account, url)
);

CREATE TABLE session (
    digest     TEXT COLLATE "C" PRIMARY KEY,
    account    TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE tool_call (
    rowid      BIGINT GENERATED ALWAYS AS IDENTITY,
    run_id     TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    call_id    TEXT COLLATE "C" NOT NULL,
    tool       TEXT COLLATE "C" NOT NULL,
    input      TEXT COLLATE "C" NOT NULL,
    state      TEXT COLLATE "C" NOT NULL,
    job_id     TEXT COLLATE "C",
    outcome    TEXT COLLATE "C",
    reason     TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    PRIMARY KEY (run_id, key)
);
CREATE UNIQUE INDEX tool_call_by_id ON tool_call (run_id, call_id);

CREATE TABLE direct_call (
    call_id         TEXT COLLATE "C" PRIMARY KEY,
    account         TEXT COLLATE "C" NOT NULL,
    pool            TEXT COLLATE "C" NOT NULL,
    hold_microcents BIGINT NOT NULL
);

CREATE TABLE unread (
    id      BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    account TEXT COLLATE "C" NOT NULL,
    chat    TEXT COLLATE "C" NOT NULL,
    path    TEXT COLLATE "C" NOT NULL,
    tries   BIGINT NOT NULL DEFAULT 0,
    UNIQUE (chat, path)
);
CREATE INDEX unread_of_account ON unread (account, id);

CREATE TABLE run_message (
    run_id  TEXT COLLATE "C" PRIMARY KEY,
    message TEXT COLLATE "C" NOT NULL
);

CREATE TABLE run_checkpoint (
    run_id TEXT COLLATE "C" PRIMARY KEY,
    state  TEXT COLLATE "C" NOT NULL
);

-- The index of `file_text` (store/tsearch.py). `names` and `tokens` hold our own tokens behind their tags; `whole` is false
-- when not all fit in `tokens`. `first_name`, `own_name` and `words` are what phrases are looked for in, and `levels` has
-- a position for each level that a word has or is above.
CREATE TABLE file_words (
    id         BIGINT PRIMARY KEY,
    chat       TEXT COLLATE "C" NOT NULL,
    path       TEXT COLLATE "C" NOT NULL,
    names      TSVECTOR NOT NULL,
    tokens     TSVECTOR NOT NULL,
    levels     TSVECTOR NOT NULL,
    whole      BOOLEAN NOT NULL,
    first_name TEXT COLLATE "C" NOT NULL,
    own_name   TEXT COLLATE "C" NOT NULL,
    words      TEXT COLLATE "C" NOT NULL,
    UNIQUE (chat, path)
);
CREATE INDEX file_words_names ON file_words USING gin (names) WITH (fastupdate = off);
CREATE INDEX file_words_tokens ON file_words USING gin (tokens) WITH (fastupdate = off);
CREATE INDEX file_words_not_whole ON file_words (chat) WHERE NOT whole;
