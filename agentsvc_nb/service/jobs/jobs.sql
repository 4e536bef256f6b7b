-- name: insert
INSERT INTO job (job_id, account, key_id, pool, charge_hold_microcents, max_microcents, chat, run_id, follows, tool, family,
    input, status, created_at)
VALUES (:job_id, :account, :key_id, :pool, :charge_hold_microcents, :max_microcents, :chat, :run_id, :follows, :tool, :family,
    :input, 'queued', :now)
RETURNING *

-- name: get
SELECT * FROM job WHERE job_id = :job_id

-- name: of_chat
SELECT * FROM job WHERE chat = :chat AND follows IS NULL ORDER BY rowid DESC LIMIT :limit

-- name: following
SELECT * FROM job WHERE follows = :run_id

-- name: follow
UPDATE job SET status = :status, started_at = :started_at WHERE follows = :run_id AND ended_at IS NULL

-- name: active
SELECT * FROM job WHERE status IN ('queued', 'running', 'cancelling') ORDER BY rowid

-- name: claim
UPDATE job SET status = 'running', worker_id = :process, attempt = attempt + 1, started_at = COALESCE(started_at, :now)
WHERE job_id = :job_id AND status IN ('queued', 'running') RETURNING *

-- name: restarted
UPDATE job SET restarts = restarts + :by WHERE job_id = :job_id

-- name: progress
UPDATE job SET progress = :progress WHERE job_id = :job_id AND attempt = :attempt AND status = 'running'

-- name: hold
UPDATE job SET hold_microcents = :tokens, charge_hold_microcents = :charges
WHERE job_id = :job_id AND attempt = :attempt AND ended_at IS NULL

-- name: cancelling
UPDATE job SET status = 'cancelling' WHERE job_id = :job_id AND status = 'running' RETURNING *

-- name: finish
UPDATE job SET status = :status, error = :error, content = :content, data = :data, kind = :kind, files = :files,
    input_tokens = :input_tokens, output_tokens = :output_tokens, cost_microcents = :cost_microcents, ended_at = :now
WHERE job_id = :job_id AND attempt = :attempt AND status IN ('queued', 'running', 'cancelling') RETURNING *

-- name: active_in
SELECT 1 AS found FROM job WHERE run_id = :run_id AND ended_at IS NULL LIMIT 1

-- name: spent_in
SELECT CAST(COALESCE(SUM(input_tokens), 0) AS BIGINT) AS input_tokens,
    CAST(COALESCE(SUM(output_tokens), 0) AS BIGINT) AS output_tokens,
    CAST(COALESCE(SUM(cost_microcents), 0) AS BIGINT) AS cost_microcents
FROM job WHERE run_id = :run_id

-- name: list
-- Without the handles of runs.
SELECT {entry} FROM job
WHERE account = :account AND follows IS NULL AND (CAST(:chat AS TEXT) IS NULL OR chat = :chat)
    AND (CAST(:status AS TEXT) IS NULL OR status = :status)
    AND (CAST(:after AS TEXT) IS NULL OR rowid < (SELECT rowid FROM job WHERE job_id = :after))
ORDER BY rowid DESC LIMIT :limit
