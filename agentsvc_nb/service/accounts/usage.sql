-- name: add
INSERT INTO usage (account, key_id, month, pool, kind, quantity, microcents)
VALUES (:account, :key_id, :month, :pool, :kind, :quantity, :microcents)
ON CONFLICT (account, key_id, month, pool, kind) DO UPDATE SET
    quantity = usage.quantity + excluded.quantity, microcents = usage.microcents + excluded.microcents

-- name: add_to_day
INSERT INTO usage_day (account, day, microcents) VALUES (:account, :day, :microcents)
ON CONFLICT (account, day) DO UPDATE SET microcents = usage_day.microcents + excluded.microcents

-- name: of_day
SELECT CAST(COALESCE(SUM(microcents), 0) AS BIGINT) AS microcents FROM usage_day WHERE account = :account AND day = :day

-- name: of_pool
SELECT CAST(COALESCE(SUM(microcents), 0) AS BIGINT) AS microcents FROM usage
WHERE account = :account AND pool = :pool AND (CAST(:month AS TEXT) IS NULL OR month = :month)

-- name: tokens_of_key
SELECT CAST(COALESCE(SUM(microcents), 0) AS BIGINT) AS microcents FROM usage
WHERE account = :account AND key_id = :key_id AND month = :month AND pool = :pool AND kind = 'tokens'

-- name: held
SELECT CAST(COALESCE(SUM(held), 0) AS BIGINT) AS microcents FROM (
    SELECT hold_microcents + charge_hold_microcents AS held FROM run WHERE account = :account AND pool = :pool
        AND status IN ('queued', 'running', 'cancelling')
    UNION ALL
    SELECT hold_microcents + charge_hold_microcents FROM job WHERE account = :account AND pool = :pool
        AND status IN ('queued', 'running', 'cancelling')
    UNION ALL
    SELECT hold_microcents FROM direct_call WHERE account = :account AND pool = :pool
) AS active

-- name: tokens_held_of_key
SELECT CAST(COALESCE(SUM(hold_microcents), 0) AS BIGINT) AS microcents FROM (
    SELECT hold_microcents FROM run WHERE account = :account AND pool = :pool AND key_id = :key_id
        AND status IN ('queued', 'running', 'cancelling')
    UNION ALL
    SELECT hold_microcents FROM job WHERE account = :account AND pool = :pool AND key_id = :key_id
        AND status IN ('queued', 'running', 'cancelling')
) AS active

-- name: begin_direct_call
INSERT INTO direct_call (call_id, account, pool, hold_microcents, worker_id)
VALUES (:call_id, :account, :pool, :hold_microcents, :process)

-- name: end_direct_call
DELETE FROM direct_call WHERE call_id = :call_id

-- name: end_direct_calls
DELETE FROM direct_call

-- name: by_key_and_month
SELECT key_id, month, pool, kind, quantity, microcents FROM usage WHERE account = :account
ORDER BY month DESC, key_id, pool, kind
