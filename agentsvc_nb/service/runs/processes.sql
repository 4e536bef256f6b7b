-- For PostgreSQL only. The database's clock decides, so a process with a wrong clock neither lives too long nor takes
-- over too early (docs/decisions/14).

-- name: live
INSERT INTO process (id, works, models, contents, sign_in, lives_until)
VALUES (:process, :works, :models, :contents, :sign_in, EXTRACT(EPOCH FROM clock_timestamp()) * 1000 + :dead_ms)
ON CONFLICT (id) DO UPDATE SET lives_until = excluded.lives_until

-- name: living
SELECT id, works, models, contents, sign_in FROM process
WHERE lives_until > EXTRACT(EPOCH FROM clock_timestamp()) * 1000 ORDER BY id

-- name: register
-- Procrastinate sends no heartbeat for a worker that it has stopped, but the worker's runs continue.
SELECT procrastinate_update_heartbeat_v1(id) FROM unnest(CAST(:registrations AS BIGINT[])) AS id

-- name: release_calls
-- Keep the rows of dead processes' calls: a process that was only frozen needs them to charge its calls.
UPDATE direct_call SET hold_microcents = 0
WHERE hold_microcents > 0 AND worker_id NOT IN (
    SELECT id FROM process WHERE lives_until > EXTRACT(EPOCH FROM clock_timestamp()) * 1000
)

-- name: forget
DELETE FROM process WHERE lives_until < EXTRACT(EPOCH FROM clock_timestamp()) * 1000 - :after_ms

-- name: forget_calls
DELETE FROM direct_call WHERE worker_id NOT IN (SELECT id FROM process)

-- name: end
DELETE FROM process WHERE id = :process

-- name: stray_runs
-- After an import or a restore, `queue_job` may be the id of another run's queue job, so compare the name as well.
SELECT run.* FROM run
LEFT JOIN procrastinate_jobs AS carrier ON carrier.id = run.queue_job AND carrier.args ->> 'name' = run.run_id
LEFT JOIN procrastinate_workers AS worker ON worker.id = carrier.worker_id
WHERE run.status IN ('queued', 'running', 'cancelling') AND NOT run.run_id = ANY(:held) AND CASE carrier.status
    WHEN 'todo' THEN NOT EXISTS (
        SELECT 1 FROM process WHERE works = 1 AND run.model = ANY(string_to_array(models, chr(10)))
            AND lives_until > EXTRACT(EPOCH FROM clock_timestamp()) * 1000
    )
    WHEN 'doing' THEN COALESCE(worker.last_heartbeat < clock_timestamp() - :dead_ms * INTERVAL '1 ms', TRUE)
    ELSE TRUE
END
ORDER BY run.rowid LIMIT :limit

-- name: stray_jobs
SELECT job.* FROM job
LEFT JOIN procrastinate_jobs AS carrier ON carrier.id = job.queue_job AND carrier.args ->> 'name' = job.job_id
LEFT JOIN procrastinate_workers AS worker ON worker.id = carrier.worker_id
WHERE job.status IN ('queued', 'running', 'cancelling') AND follows IS NULL AND NOT job.job_id = ANY(:held)
    AND CASE carrier.status
        WHEN 'todo' THEN EXISTS (SELECT 1 FROM run WHERE run.run_id = job.run_id AND run.ended_at IS NOT NULL)
        WHEN 'doing' THEN COALESCE(worker.last_heartbeat < clock_timestamp() - :dead_ms * INTERVAL '1 ms', TRUE)
        ELSE TRUE
    END
ORDER BY job.rowid LIMIT :limit

-- name: queue_run
UPDATE run SET queue_job = queued(run_id, model)
WHERE run_id = :id AND attempt = :attempt AND status IN ('queued', 'running', 'cancelling')

-- name: queue_job
UPDATE job SET queue_job = queued(job_id, (SELECT model FROM run WHERE run.run_id = job.run_id))
WHERE job_id = :id AND attempt = :attempt AND status IN ('queued', 'running', 'cancelling')

-- name: states
SELECT run_id AS name, worker_id, status, CAST(last_event AS TEXT) AS progress, (
    SELECT string_agg(state, ',' ORDER BY key) FROM tool_call
    WHERE tool_call.run_id = run.run_id AND waits_in IS NOT NULL
) AS calls
FROM run WHERE run_id = ANY(:names)
UNION ALL
SELECT job_id, worker_id, status, progress, NULL FROM job WHERE job_id = ANY(:names)
