-- What a job's calls of a model may cost, in micro-cents: what was left of its run's limit. NULL is no limit of its own.
ALTER TABLE job ADD COLUMN max_microcents BIGINT;
