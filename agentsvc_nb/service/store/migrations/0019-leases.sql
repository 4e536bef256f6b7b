-- Of processes that share a database: who executes a run or job, and until when nobody
-- else may, by the database's clock in ms. NULL: nobody; so it always is in SQLite, which one process has to itself.
ALTER TABLE run ADD COLUMN worker_id TEXT;
ALTER TABLE run ADD COLUMN lease_until BIGINT;
ALTER TABLE job ADD COLUMN worker_id TEXT;
ALTER TABLE job ADD COLUMN lease_until BIGINT;
-- Who makes the call.
ALTER TABLE direct_call ADD COLUMN worker_id TEXT;

-- The processes that share the database: whether one executes runs (1) or only answers requests (0), by which models (a line each),
-- where its contents of files lie, and the digest of the token in its sign-in link, which opens all of them.
CREATE TABLE process (
    id          TEXT NOT NULL PRIMARY KEY,
    works       BIGINT NOT NULL,
    models      TEXT NOT NULL,
    contents    TEXT NOT NULL,
    sign_in     TEXT NOT NULL,
    lease_until BIGINT NOT NULL
);
