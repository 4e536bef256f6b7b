-- name: insert
INSERT INTO sent (run_id, place, sent_at, provider, hosted, model, tokens, parts)
SELECT :run_id, (SELECT COALESCE(MAX(place), 0) + 1 FROM sent WHERE run_id = :run_id), :now, :provider, :hosted, :model,
    :tokens, :parts

-- name: of_run
SELECT place, sent_at, provider, hosted, model, tokens, parts FROM sent WHERE run_id = :run_id ORDER BY place

-- name: reached
SELECT 1 AS found FROM sent WHERE provider = :provider AND hosted = 1 LIMIT 1
