-- For PostgreSQL alone. The time is the database's: a process whose clock is wrong neither keeps a lease too long nor
-- takes one too early (docs/decisions/0057-leases.md).

-- name: take_run
UPDATE run SET worker_id = :worker, lease_until = EXTRACT(EPOCH FROM clock_timestamp()) * 1000 + :lease_ms
WHERE run_id = (
    SELECT run_id FROM run
    WHERE run_id = :id AND status IN ('queued', 'running', 'cancelling')
        AND (lease_until IS NULL OR worker_id = :worker OR lease_until < EXTRACT(EPOCH FROM clock_timestamp()) * 1000)
        AND (model = ANY(:models) OR NOT EXISTS (
            SELECT 1 FROM process WHERE works = 1 AND run.model = ANY(string_to_array(process.models, chr(10)))
                AND process.lease_until > EXTRACT(EPOCH FROM clock_timestamp()) * 1000
        ))
    FOR UPDATE SKIP LOCKED
)
RETURNING *

-- name: claim_run
-- `claim` of a run that nobody has had yet, with a lease, if the worker has its model.
UPDATE run SET worker_id = :worker, lease_until = EXTRACT(EPOCH FROM clock_timestamp()) * 1000 + :lease_ms,
    status = 'running', attempt = 1, started_at = :now, last_event = last_event + 1, checkpoint_event = last_event + 1
WHERE run_id = :id AND status = 'queued' AND worker_id IS NULL AND model = ANY(:models) RETURNING *

-- name: take_job
UPDATE job SET worker_id = :worker, lease_until = EXTRACT(EPOCH FROM clock_timestamp()) * 1000 + :lease_ms
WHERE job_id = (
    SELECT job_id FROM job
    WHERE job_id = :id AND status IN ('queued', 'running', 'cancelling') AND follows IS NULL
        AND (lease_until IS NULL OR worker_id = :worker OR lease_until < EXTRACT(EPOCH FROM clock_timestamp()) * 1000)
    FOR UPDATE SKIP LOCKED
)
RETURNING *

-- name: renew_runs
UPDATE run SET lease_until = EXTRACT(EPOCH FROM clock_timestamp()) * 1000 + :lease_ms
WHERE run_id = ANY(:names) AND worker_id = :worker AND status IN ('queued', 'running', 'cancelling')
RETURNING run_id AS name

-- name: renew_jobs
UPDATE job SET lease_until = EXTRACT(EPOCH FROM clock_timestamp()) * 1000 + :lease_ms
WHERE job_id = ANY(:names) AND worker_id = :worker AND status IN ('queued', 'running', 'cancelling')
RETURNING job_id AS name

-- name: leave_run
UPDATE run SET worker_id = NULL, lease_until = NULL, restarts = restarts - CASE WHEN EXISTS (
    SELECT 1 FROM tool_call WHERE tool_call.run_id = run.run_id AND tool_call.waits_in = run.attempt
) THEN 0 ELSE 1 END
WHERE run_id = :id AND worker_id = :worker AND status IN ('queued', 'running', 'cancelling')

-- name: leave_job
UPDATE job SET restarts = restarts - 1, worker_id = NULL, lease_until = NULL
WHERE job_id = :id AND worker_id = :worker AND status IN ('queued', 'running', 'cancelling')

-- name: free_runs
-- A run of another model waits for a process that has it, while one lives.
SELECT run_id AS name FROM run
WHERE status IN ('queued', 'running', 'cancelling')
    AND (lease_until IS NULL OR worker_id = :worker
        OR (:expired AND lease_until < EXTRACT(EPOCH FROM clock_timestamp()) * 1000))
    AND (model = ANY(:models) OR NOT EXISTS (
        SELECT 1 FROM process WHERE works = 1 AND run.model = ANY(string_to_array(process.models, chr(10)))
            AND process.lease_until > EXTRACT(EPOCH FROM clock_timestamp()) * 1000
    ))
    AND NOT run_id = ANY(:names)
ORDER BY rowid LIMIT :limit

-- name: free_jobs
SELECT job_id AS name FROM job
WHERE status IN ('queued', 'running', 'cancelling') AND follows IS NULL
    AND (lease_until IS NULL OR worker_id = :worker
        OR (:expired AND lease_until < EXTRACT(EPOCH FROM clock_timestamp()) * 1000))
    AND NOT job_id = ANY(:names)
ORDER BY rowid LIMIT :limit

-- name: cancelling_runs
SELECT run_id AS name FROM run WHERE run_id = ANY(:names) AND status <> 'running'

-- name: cancelling_jobs
SELECT job_id AS name FROM job WHERE job_id = ANY(:names) AND status <> 'running'

-- name: next_end
SELECT CAST(MIN(lease_until) - EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS ms FROM (
    SELECT lease_until FROM run WHERE status IN ('queued', 'running', 'cancelling') AND worker_id <> :worker
    UNION ALL
    SELECT lease_until FROM job WHERE status IN ('queued', 'running', 'cancelling') AND worker_id <> :worker
) AS held
WHERE lease_until >= EXTRACT(EPOCH FROM clock_timestamp()) * 1000

-- name: live
INSERT INTO process (id, works, models, contents, sign_in, lease_until)
VALUES (:worker, :works, :models, :contents, :sign_in, EXTRACT(EPOCH FROM clock_timestamp()) * 1000 + :lease_ms)
ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until

-- name: living
SELECT id, works, models, contents, sign_in FROM process
WHERE lease_until > EXTRACT(EPOCH FROM clock_timestamp()) * 1000 ORDER BY id

-- name: release_calls
-- Of a process that is gone. The row stays: if it was only frozen, it bills the call by it.
UPDATE direct_call SET hold_microcents = 0
WHERE hold_microcents > 0 AND worker_id NOT IN (
    SELECT id FROM process WHERE lease_until > EXTRACT(EPOCH FROM clock_timestamp()) * 1000
)

-- name: forget
DELETE FROM process WHERE lease_until < EXTRACT(EPOCH FROM clock_timestamp()) * 1000 - :after_ms

-- name: forget_calls
DELETE FROM direct_call WHERE worker_id NOT IN (SELECT id FROM process)

-- name: end_runs
UPDATE run SET lease_until = NULL WHERE worker_id = :worker AND status IN ('queued', 'running', 'cancelling')

-- name: end_jobs
UPDATE job SET lease_until = NULL WHERE worker_id = :worker AND status IN ('queued', 'running', 'cancelling')

-- name: end_process
DELETE FROM process WHERE id = :worker
