-- name: remember
INSERT INTO idempotency (account, kind, address, utc_day, key, target)
VALUES (:account, :kind, :address, :utc_day, :key, :target)

-- name: recall
SELECT target FROM idempotency
WHERE account = :account AND kind = :kind AND address = :address AND utc_day = :utc_day AND key = :key

-- name: forget
DELETE FROM idempotency WHERE (account, kind, address, utc_day, key) IN (
    SELECT account, kind, address, utc_day, key FROM idempotency WHERE utc_day < :before_day LIMIT :limit
)
