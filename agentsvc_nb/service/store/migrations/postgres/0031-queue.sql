-- Changes what earlier versions read or write.
-- Of processes that share a database (docs/decisions/0102-procrastinate.md): the job of the queue that carries a run or job, in
-- place of a lease. The tables and functions of the queue are there by now (`migrate`).
ALTER TABLE run ADD COLUMN queue_job BIGINT;
ALTER TABLE job ADD COLUMN queue_job BIGINT;
ALTER TABLE run DROP COLUMN lease_until;
ALTER TABLE job DROP COLUMN lease_until;
ALTER TABLE process RENAME COLUMN lease_until TO lives_until;
-- The calls in which runs wait for somebody.
CREATE INDEX tool_call_waiting ON tool_call (run_id) WHERE waits_in IS NOT NULL;

-- Adds a job to the queue that carries the run or job of this name, for workers that have the model, or for all without one; its number.
CREATE FUNCTION queued(name TEXT, model TEXT) RETURNS BIGINT LANGUAGE sql AS $$
    SELECT (procrastinate_defer_jobs_v1(ARRAY[ROW(
        COALESCE(left('model:' || model, 128), 'all'), 'execute', 0, NULL, NULL, jsonb_build_object('name', name), NULL
    )::procrastinate_job_to_defer_v1]))[1]
$$;

-- Each new run and job is in the queue from its own transaction on. The model of a run answers the tools of its jobs, too.
CREATE FUNCTION queue_new_run() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    NEW.queue_job := queued(NEW.run_id, NEW.model);
    RETURN NEW;
END $$;
CREATE TRIGGER new_run BEFORE INSERT ON run FOR EACH ROW WHEN (NEW.status = 'queued') EXECUTE FUNCTION queue_new_run();

-- A job that is the handle of a run is carried with that.
CREATE FUNCTION queue_new_job() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    NEW.queue_job := queued(NEW.job_id, (SELECT model FROM run WHERE run_id = NEW.run_id));
    RETURN NEW;
END $$;
CREATE TRIGGER new_job BEFORE INSERT ON job FOR EACH ROW WHEN (NEW.status = 'queued' AND NEW.follows IS NULL)
    EXECUTE FUNCTION queue_new_job();
