-- Changes what earlier versions read or write.
-- Of processes that share a database (docs/decisions/0102-procrastinate.md): the job of the queue that carries a run or job, in
-- place of a lease. Always NULL in SQLite, which one process has to itself.
ALTER TABLE run ADD COLUMN queue_job BIGINT;
ALTER TABLE job ADD COLUMN queue_job BIGINT;
ALTER TABLE run DROP COLUMN lease_until;
ALTER TABLE job DROP COLUMN lease_until;
ALTER TABLE process RENAME COLUMN lease_until TO lives_until;
-- The calls in which runs wait for somebody.
CREATE INDEX tool_call_waiting ON tool_call (run_id) WHERE waits_in IS NOT NULL;
