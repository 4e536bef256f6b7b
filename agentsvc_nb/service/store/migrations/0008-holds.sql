-- What per-use charges hold, beside `hold_microcents`, which tokens hold: a key's budget counts tokens alone.
ALTER TABLE run ADD COLUMN use_hold_microcents INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN use_hold_microcents INTEGER NOT NULL DEFAULT 0;

-- What direct calls of priced tools hold until they end; the service's start removes those that a crash left behind.
CREATE TABLE direct_call (
    call_id         TEXT PRIMARY KEY,
    account         TEXT NOT NULL,
    pool            TEXT NOT NULL,
    hold_microcents INTEGER NOT NULL
);
