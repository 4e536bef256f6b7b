-- name: get
SELECT * FROM account WHERE id = :id

-- name: ensure
INSERT INTO account (id) VALUES (:id) ON CONFLICT (id) DO NOTHING

-- name: set_state
UPDATE account SET state = :state, state_until = :state_until WHERE id = :id

-- name: set_plan
UPDATE account SET plan = :plan WHERE id = :id

-- name: set_review
UPDATE account SET review_since = :since WHERE id = :id

-- name: count
INSERT INTO rate_window (subject, span, begins, requests) VALUES (:subject, :span, :begins, 1)
ON CONFLICT (subject, span) DO UPDATE SET
    requests = CASE WHEN rate_window.begins = excluded.begins THEN rate_window.requests + 1 ELSE 1 END, begins = excluded.begins
RETURNING requests
