-- name: expire_uploads
DELETE FROM upload WHERE id IN (SELECT id FROM upload WHERE expires_at < :before ORDER BY expires_at LIMIT :limit)

-- name: forget_replays
DELETE FROM idempotency WHERE (account, kind, address, utc_day, key) IN (
    SELECT account, kind, address, utc_day, key FROM idempotency WHERE utc_day < :before_day LIMIT :limit
)
