-- The work of an account, the newest first.

-- name: runs
SELECT run_id, status, chat, project, created_at, started_at, ended_at, last_error, steps, input_tokens, output_tokens,
    cost_microcents, model
FROM run
WHERE account = :account AND (CAST(:chat AS TEXT) IS NULL OR chat = :chat)
    AND (CAST(:status AS TEXT) IS NULL OR status = :status)
    AND (CAST(:after AS TEXT) IS NULL OR rowid < (SELECT rowid FROM run WHERE run_id = :after))
ORDER BY rowid DESC LIMIT :limit

-- name: jobs
SELECT job_id, tool, family, chat, status, error, progress, created_at, started_at, ended_at FROM job
WHERE account = :account AND follows IS NULL AND (CAST(:chat AS TEXT) IS NULL OR chat = :chat)
    AND (CAST(:status AS TEXT) IS NULL OR status = :status)
    AND (CAST(:after AS TEXT) IS NULL OR rowid < (SELECT rowid FROM job WHERE job_id = :after))
ORDER BY rowid DESC LIMIT :limit
