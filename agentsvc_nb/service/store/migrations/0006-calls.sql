-- The tool calls of runs (docs/decisions/0014-calls-are-kept.md): one row a call, so that a run that goes on after a
-- crash repeats none that had ended, and none whose effect may be out. `key` is the same for the same call of each
-- attempt. `state` is 'called', 'waiting' (for approval), 'approved', 'refused', 'begun' (an effect may be out) or
-- 'done'. `outcome` is what the tool answered.
CREATE TABLE tool_call (
    run_id     TEXT NOT NULL,
    key        TEXT NOT NULL,
    call_id    TEXT NOT NULL,
    tool       TEXT NOT NULL,
    input      TEXT NOT NULL,
    state      TEXT NOT NULL,
    job_id     TEXT,
    outcome    TEXT,
    reason     TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (run_id, key)
);
CREATE UNIQUE INDEX tool_call_by_id ON tool_call (run_id, call_id);

-- The paths of the files that came with the message.
ALTER TABLE run ADD COLUMN attachments TEXT NOT NULL DEFAULT '[]';
