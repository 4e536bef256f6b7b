-- What may have megabytes lies beside a run's row, which each event of the run rewrites as a whole.
CREATE TABLE run_message (
    run_id  TEXT PRIMARY KEY,
    message TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO run_message SELECT run_id, message FROM run;
ALTER TABLE run ADD COLUMN message_chars INTEGER NOT NULL DEFAULT 0;
-- Of old runs in bytes, which tells a long message as well: LENGTH of a text ends where it has a NUL.
UPDATE run SET message_chars = LENGTH(CAST(message AS BLOB));
ALTER TABLE run DROP COLUMN message;

CREATE TABLE run_checkpoint (
    run_id TEXT PRIMARY KEY,
    state  TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO run_checkpoint SELECT run_id, checkpoint FROM run WHERE checkpoint IS NOT NULL;
ALTER TABLE run DROP COLUMN checkpoint;
