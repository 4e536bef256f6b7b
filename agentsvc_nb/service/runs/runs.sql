-- The statements that start, claim and end a run also reserve the ids of the events that report this. In PostgreSQL, a
-- trigger puts each new run and job into the queue (migration 0031).

-- name: insert
INSERT INTO run (run_id, account, key_id, pool, hold_microcents, chat, project, status, output_config, model, message_chars,
    attachments, traceparent, max_steps, max_microcents, effort, client_tools, last_event, created_at)
VALUES (:run_id, :account, :key_id, :pool, :hold_microcents, :chat, :project, 'queued', :output_config, :model, :message_chars,
    :attachments, :traceparent, :max_steps, :max_microcents, :effort, :client_tools, 1, :now)
RETURNING *

-- name: insert_resumed
INSERT INTO run (run_id, account, key_id, pool, hold_microcents, chat, project, status, output_config, model, message_chars,
    attachments, traceparent, max_steps, max_microcents, effort, client_tools, resumed_from, last_event, created_at)
SELECT :run_id, account, :key_id, :pool, :hold_microcents, chat, project, 'queued', output_config, model, message_chars,
    attachments, :traceparent, COALESCE(:max_steps, max_steps), COALESCE(:max_microcents, max_microcents), effort, client_tools,
    run_id, 1, :now
FROM run WHERE run_id = :old
RETURNING *

-- name: resumed_by
SELECT run_id FROM run WHERE chat = :chat AND resumed_from = :run_id

-- name: copy_message
INSERT INTO run_message (run_id, message, client_tools) SELECT :run_id, message, client_tools FROM run_message WHERE run_id = :old

-- name: insert_message
INSERT INTO run_message (run_id, message, client_tools) VALUES (:run_id, :message, :client_tools)

-- name: message
SELECT message FROM run_message WHERE run_id = :run_id

-- name: client_tools
SELECT client_tools FROM run_message WHERE run_id = :run_id

-- name: message_beginning
-- Read bytes, because SUBSTR of a text ends at a NUL.
SELECT SUBSTR(CAST(message AS BLOB), 1, 4 * :chars) AS message FROM run_message WHERE run_id = :run_id

-- name: message_beginning, in PostgreSQL
-- Read twice as many characters, because a NUL is stored as two.
SELECT LEFT(message, CAST(2 * :chars AS INTEGER)) AS message FROM run_message WHERE run_id = :run_id

-- name: get
SELECT * FROM run WHERE run_id = :run_id

-- name: get_of_account
SELECT * FROM run WHERE run_id = :run_id AND account = :account

-- name: shown
SELECT {shown} FROM run WHERE run_id = :run_id AND account = :account

-- name: list
SELECT {entry} FROM run
WHERE account = :account AND (CAST(:chat AS TEXT) IS NULL OR chat = :chat)
    AND (CAST(:status AS TEXT) IS NULL OR status = :status)
    AND (CAST(:after AS TEXT) IS NULL OR rowid < (SELECT rowid FROM run WHERE run_id = :after))
ORDER BY rowid DESC LIMIT :limit

-- name: status
SELECT status FROM run WHERE run_id = :run_id

-- name: status_of_account
SELECT status FROM run WHERE run_id = :run_id AND account = :account

-- name: active_of_chat
SELECT * FROM run WHERE chat = :chat AND status IN ('queued', 'running', 'cancelling')

-- name: of_chat
SELECT * FROM run
WHERE chat = :chat AND (CAST(:last AS TEXT) IS NULL OR rowid <= (SELECT rowid FROM run WHERE run_id = :last AND chat = :chat))
ORDER BY rowid DESC LIMIT :limit

-- name: active
SELECT * FROM run WHERE status IN ('queued', 'running', 'cancelling') ORDER BY rowid

-- name: active_by_account
SELECT account, COUNT(*) AS runs FROM run WHERE status IN ('queued', 'running', 'cancelling') GROUP BY account

-- name: claim
UPDATE run SET status = 'running', worker_id = :process, attempt = 1, started_at = :now, last_event = last_event + 1,
    checkpoint_event = last_event + 1
WHERE run_id = :run_id AND status = 'queued' RETURNING *

-- name: resume
UPDATE run SET attempt = attempt + 1, worker_id = :process, charge_hold_microcents = 0
WHERE run_id = :run_id AND attempt = :attempt AND status IN ('running', 'cancelling') RETURNING *

-- name: restarted
-- Don't count an attempt that only waits for approval or for the run's caller.
UPDATE run SET restarts = restarts + :by WHERE run_id = :run_id
    AND NOT EXISTS (SELECT 1 FROM tool_call WHERE tool_call.run_id = run.run_id AND tool_call.waits_in = run.attempt)

-- name: made_progress
UPDATE run SET restarts = 0 WHERE run_id = :run_id

-- name: checkpoint
UPDATE run SET checkpoint_event = last_event, hold_microcents = :hold, restarts = CASE WHEN EXISTS (
    SELECT 1 FROM run_checkpoint WHERE run_checkpoint.run_id = run.run_id AND run_checkpoint.state = :state
) THEN restarts ELSE 0 END
WHERE run_id = :run_id AND attempt = :attempt AND status IN ('running', 'cancelling')

-- name: used
UPDATE run SET steps = :steps, input_tokens = :input_tokens, output_tokens = :output_tokens,
    cost_microcents = :cost_microcents
WHERE run_id = :run_id AND attempt = :attempt AND status IN ('running', 'cancelling')

-- name: save
INSERT INTO run_checkpoint (run_id, state) VALUES (:run_id, :state)
ON CONFLICT (run_id) DO UPDATE SET state = excluded.state

-- name: saved
SELECT state FROM run_checkpoint WHERE run_id = :run_id

-- name: hold
UPDATE run SET hold_microcents = :tokens, charge_hold_microcents = :charges
WHERE run_id = :run_id AND attempt = :attempt AND ended_at IS NULL

-- name: release_charges
UPDATE run SET charge_hold_microcents = 0 WHERE run_id = :run_id AND attempt = :attempt AND charge_hold_microcents > 0

-- name: limit
SELECT max_microcents FROM run WHERE run_id = :run_id

-- name: raise_limit
UPDATE run SET max_microcents = :max_microcents WHERE run_id = :run_id RETURNING *

-- name: cancelling
UPDATE run SET status = 'cancelling' WHERE run_id = :run_id AND status = 'running' RETURNING *

-- name: set_undone
UPDATE run SET undone_at = :undone_at WHERE run_id = :run_id

-- name: finish
UPDATE run SET status = :status, output = :output, structured_output = :structured_output, last_error = :last_error,
    last_error_message = :last_error_message, steps = :steps, input_tokens = :input_tokens,
    output_tokens = :output_tokens, cost_microcents = :cost_microcents, basis = :basis, ended_at = :now,
    last_event = last_event + :events
WHERE run_id = :run_id AND attempt = :attempt AND status IN ('queued', 'running', 'cancelling') RETURNING *
