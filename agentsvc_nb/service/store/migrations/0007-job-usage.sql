-- What a job's tool used of a language model: it is billed with the job's end, and shown with its run's.
ALTER TABLE job ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN cost_microcents INTEGER NOT NULL DEFAULT 0;
CREATE INDEX job_by_run ON job (run_id) WHERE run_id IS NOT NULL;
