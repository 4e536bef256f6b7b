-- Rows are read in the order of their making, which no longer is that of `created_at` when a clock was set back.
DROP INDEX run_active;
CREATE INDEX run_active ON run (status) WHERE status IN ('queued', 'running', 'cancelling');
DROP INDEX job_active;
CREATE INDEX job_active ON job (status) WHERE status IN ('queued', 'running', 'cancelling');
DROP INDEX job_of_chat;
CREATE INDEX job_of_chat ON job (chat);
