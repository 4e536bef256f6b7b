-- What the operator has decided about an account; without a row nothing is barred. `state` is 'active', 'throttled' or
-- 'suspended', the latter two until `state_until` or, without it, until they are taken back. `review_since`: a model
-- call came without its token counts, and what it cost is not known.
CREATE TABLE account (
    id           TEXT PRIMARY KEY,
    state        TEXT NOT NULL DEFAULT 'active',
    state_until  INTEGER,
    plan         INTEGER NOT NULL DEFAULT 1,
    review_since INTEGER
);

-- Requests of one subject (a key or an account) in its present window; the next window takes the row over.
CREATE TABLE rate_window (
    subject  TEXT NOT NULL,
    span     TEXT NOT NULL,
    begins   INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (subject, span)
);

-- What was billed: by key, UTC month, pool ('wallet' or 'plan') and kind ('tokens', 'picture', 'web_search').
CREATE TABLE usage (
    account    TEXT NOT NULL,
    key_id     TEXT NOT NULL,
    month      TEXT NOT NULL,
    pool       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    quantity   INTEGER NOT NULL,
    microcents INTEGER NOT NULL,
    PRIMARY KEY (account, key_id, month, pool, kind)
);

-- Who pays, and what is held until the work ends.
ALTER TABLE run ADD COLUMN pool TEXT NOT NULL DEFAULT 'wallet';
ALTER TABLE run ADD COLUMN hold_microcents INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN pool TEXT NOT NULL DEFAULT 'wallet';
ALTER TABLE job ADD COLUMN hold_microcents INTEGER NOT NULL DEFAULT 0;
CREATE INDEX run_held ON run (account, pool, key_id, hold_microcents) WHERE status IN ('queued', 'running', 'cancelling');
CREATE INDEX job_held ON job (account, pool, key_id, hold_microcents) WHERE status IN ('queued', 'running', 'cancelling');
