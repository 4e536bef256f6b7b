-- A retired chat gives its label back: the session, or the tools, get a new chat at their next use.
DROP INDEX chat_of_label;
CREATE UNIQUE INDEX chat_of_label ON chat (account, COALESCE(project, ''), label)
    WHERE label IS NOT NULL AND retired_at IS NULL;

-- A job that is the handle of a run (an ask) names it here; `run_id` is the run that submitted the job.
ALTER TABLE job ADD COLUMN follows TEXT;
CREATE UNIQUE INDEX job_of_followed ON job (follows) WHERE follows IS NOT NULL;

CREATE TABLE feedback (
    id         TEXT PRIMARY KEY,
    account    TEXT NOT NULL,
    summary    TEXT NOT NULL,
    category   TEXT,
    impact     TEXT,
    endpoint   TEXT,
    error_code TEXT,
    request_id TEXT,
    status     TEXT NOT NULL DEFAULT 'open',
    reply      TEXT,
    created_at INTEGER NOT NULL,
    replied_at INTEGER
);
CREATE INDEX feedback_by_time ON feedback (account, created_at);

CREATE TABLE media (
    id         TEXT PRIMARY KEY,
    account    TEXT NOT NULL,
    kind       TEXT NOT NULL,
    source     TEXT NOT NULL,
    url        TEXT,
    file_name  TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    sha256     TEXT NOT NULL,
    duration_s REAL,
    transcript TEXT,
    created_at INTEGER NOT NULL
);

CREATE TABLE landing_page (
    id         TEXT PRIMARY KEY,
    account    TEXT NOT NULL,
    url        TEXT NOT NULL,
    labels     TEXT NOT NULL DEFAULT '{}',
    version    INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    UNIQUE (account, url)
);
