-- name: insert
INSERT INTO tool_call (run_id, key, call_id, tool, input, state, created_at)
SELECT :run_id, :key, :call_id, :tool, :input, 'called', :now FROM run
WHERE run_id = :run_id AND attempt = :attempt AND ended_at IS NULL
ON CONFLICT (run_id, key) DO NOTHING

-- name: take_over
INSERT INTO tool_call (run_id, key, call_id, tool, input, state, job_id, outcome, reason, created_at)
SELECT :new, key, call_id, tool, input, CASE state WHEN 'waiting' THEN 'called' ELSE state END, job_id, outcome, reason,
    created_at
FROM tool_call WHERE run_id = :old ORDER BY created_at

-- name: get
SELECT * FROM tool_call WHERE run_id = :run_id AND key = :key

-- name: by_call_id
SELECT * FROM tool_call WHERE run_id = :run_id AND call_id = :call_id

-- name: waiting
SELECT * FROM tool_call WHERE run_id = :run_id AND state = 'waiting' ORDER BY rowid

-- name: decide
UPDATE tool_call SET state = :state, reason = :reason
WHERE run_id = :run_id AND key = :key AND state = 'waiting'
    AND EXISTS (SELECT 1 FROM run WHERE run_id = :run_id AND status = 'running')
RETURNING *

-- name: move
UPDATE tool_call SET state = :state, job_id = COALESCE(:job_id, job_id), outcome = COALESCE(:outcome, outcome)
WHERE run_id = :run_id AND key = :key
    AND EXISTS (SELECT 1 FROM run WHERE run_id = :run_id AND attempt = :attempt AND ended_at IS NULL)
RETURNING *
