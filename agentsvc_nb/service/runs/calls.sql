-- name: insert
INSERT INTO tool_call (run_id, key, call_id, tool, input, state, created_at)
SELECT :run_id, :key, :call_id, :tool, :input, 'called', :now FROM run
WHERE run_id = :run_id AND attempt = :attempt AND ended_at IS NULL
ON CONFLICT (run_id, key) DO NOTHING

-- name: take_over
INSERT INTO tool_call (run_id, key, call_id, tool, input, asked_input, state, job_id, outcome, reason, created_at)
SELECT :new, key, call_id, tool, input, asked_input, CASE WHEN state IN ('waiting', 'asked') THEN 'called' ELSE state END, job_id,
    outcome, reason, created_at
FROM tool_call WHERE run_id = :old ORDER BY created_at

-- name: get
SELECT * FROM tool_call WHERE run_id = :run_id AND key = :key

-- name: by_call_id
SELECT * FROM tool_call WHERE run_id = :run_id AND call_id = :call_id

-- name: first
SELECT * FROM tool_call WHERE run_id = :run_id ORDER BY rowid LIMIT 1

-- name: waiting
SELECT * FROM tool_call WHERE run_id = :run_id AND state = 'waiting' ORDER BY rowid

-- name: ended
SELECT * FROM tool_call WHERE run_id = :run_id AND outcome IS NOT NULL ORDER BY created_at DESC, rowid DESC LIMIT :limit

-- name: ended_of_tool
SELECT 1 FROM tool_call WHERE run_id = :run_id AND tool = :tool AND outcome IS NOT NULL LIMIT 1

-- name: edits
SELECT outcome FROM tool_call WHERE run_id = :run_id AND tool IN ('edit_file', 'write_file') AND outcome IS NOT NULL
ORDER BY created_at, rowid LIMIT :limit

-- name: decide
UPDATE tool_call SET state = :state, reason = :reason,
    asked_input = CASE WHEN CAST(:input AS TEXT) IS NULL THEN asked_input ELSE COALESCE(asked_input, input) END,
    input = COALESCE(CAST(:input AS TEXT), input)
WHERE run_id = :run_id AND key = :key AND state = 'waiting'
    AND EXISTS (SELECT 1 FROM run WHERE run_id = :run_id AND status = 'running')
RETURNING *

-- name: move
UPDATE tool_call SET state = :state, job_id = COALESCE(:job_id, job_id), outcome = COALESCE(:outcome, outcome)
WHERE run_id = :run_id AND key = :key
    AND EXISTS (SELECT 1 FROM run WHERE run_id = :run_id AND attempt = :attempt AND ended_at IS NULL)
RETURNING *

-- name: wait
UPDATE tool_call SET state = 'waiting', waits_in = :attempt
WHERE run_id = :run_id AND key = :key
    AND EXISTS (SELECT 1 FROM run WHERE run_id = :run_id AND attempt = :attempt AND ended_at IS NULL)
RETURNING *

-- name: ask
UPDATE tool_call SET state = 'asked', waits_in = :attempt, asked_at = COALESCE(asked_at, :now), expires_at = :expires_at
WHERE run_id = :run_id AND key = :key
    AND EXISTS (SELECT 1 FROM run WHERE run_id = :run_id AND attempt = :attempt AND ended_at IS NULL)
RETURNING *

-- name: answer
UPDATE tool_call SET state = 'answered', outcome = :outcome
WHERE run_id = :run_id AND key = :key AND state = 'asked' AND expires_at > :now
    AND EXISTS (SELECT 1 FROM run WHERE run_id = :run_id AND status = 'running')

-- name: extend
UPDATE tool_call SET expires_at = :expires_at
WHERE run_id = :run_id AND key = :key AND state = 'asked' AND expires_at > :now
    AND EXISTS (SELECT 1 FROM run WHERE run_id = :run_id AND status = 'running')

-- name: expire
UPDATE tool_call SET state = 'expired', outcome = :outcome
WHERE run_id = :run_id AND key = :key AND state = 'asked' AND expires_at <= :now

-- name: go_on
UPDATE tool_call SET waits_in = NULL WHERE run_id = :run_id AND key = :key AND waits_in = :attempt
