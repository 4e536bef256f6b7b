-- Active work. The queries use the indexes of active rows, so they read no runs and jobs that have ended.

-- name: runs
SELECT status, COUNT(*) AS works, MIN(created_at) AS oldest FROM run
WHERE status IN ('queued', 'running', 'cancelling') GROUP BY status

-- name: jobs
-- Without the jobs of `ask`, because their runs are already counted.
SELECT status, COUNT(*) AS works, MIN(created_at) AS oldest FROM job
WHERE status IN ('queued', 'running', 'cancelling') AND follows IS NULL GROUP BY status

-- name: approvals
SELECT COUNT(*) AS works FROM run JOIN tool_call ON tool_call.run_id = run.run_id
WHERE run.status = 'running' AND tool_call.state = 'waiting'

-- name: event_time
SELECT created_at FROM run_event WHERE run_id = :run_id AND id = :id

-- name: last_resumed
SELECT created_at FROM run_event WHERE run_id = :run_id AND type = 'run.resumed' AND id <= :id ORDER BY id DESC LIMIT 1

-- name: database_bytes
SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()

-- name: database_bytes, in PostgreSQL
SELECT pg_database_size(current_database()) AS bytes

-- name: touch
INSERT INTO meta (name, value) VALUES ('touched', :now) ON CONFLICT (name) DO UPDATE SET value = excluded.value
