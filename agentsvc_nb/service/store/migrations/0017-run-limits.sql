-- What the start of a run allows it: model steps, and micro-cents. NULL is no limit of its own.
ALTER TABLE run ADD COLUMN max_steps INTEGER;
ALTER TABLE run ADD COLUMN max_microcents BIGINT;
