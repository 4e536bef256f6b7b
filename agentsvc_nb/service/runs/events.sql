-- The statements that start, claim and end a run (`runs.sql`) reserve the ids of the events that report this.

-- name: said
SELECT id, type, created_at, payload FROM run_event
WHERE run_id = :run_id AND type IN ('text.delta', 'run.resumed') ORDER BY id

-- name: plans
SELECT id, type, payload FROM run_event WHERE run_id = :run_id AND type IN ('plan.changed', 'run.resumed') ORDER BY id

-- name: last_of_limit
SELECT type FROM run_event WHERE run_id = :run_id AND type IN ('limit.near', 'limit.raised') ORDER BY id DESC LIMIT 1

-- name: warned_of
SELECT id FROM run_event WHERE run_id = :run_id AND type = 'warning' AND payload LIKE :code LIMIT 1

-- name: next_events
UPDATE run SET last_event = last_event + :events
WHERE run_id = :run_id AND attempt = :attempt AND ended_at IS NULL RETURNING last_event

-- name: insert_event
INSERT INTO run_event (run_id, id, type, created_at, payload) VALUES (:run_id, :id, :type, :now, :payload)

-- name: events
SELECT id, type, created_at, payload FROM run_event WHERE run_id = :run_id AND id > :after ORDER BY id LIMIT :limit
