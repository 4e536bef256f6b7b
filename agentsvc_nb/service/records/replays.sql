-- name: remember
INSERT INTO idempotency (account, kind, address, utc_day, key, target)
VALUES (:account, :kind, :address, :utc_day, :key, :target)

-- name: recall
SELECT target FROM idempotency
WHERE account = :account AND kind = :kind AND address = :address AND utc_day = :utc_day AND key = :key
