-- name: insert
INSERT INTO api_key (id, account, name, prefix, digest, member, scopes, budget_cents, created_at)
VALUES (:id, :account, :name, :prefix, :digest, :member, :scopes, :budget_cents, :now)
RETURNING *

-- name: by_digest
SELECT * FROM api_key WHERE digest = :digest

-- name: meta
SELECT value FROM meta WHERE name = :name

-- name: set_meta
INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING

-- name: get
SELECT * FROM api_key WHERE id = :id AND account = :account

-- name: all
SELECT * FROM api_key WHERE account = :account ORDER BY created_at, id

-- name: find
SELECT * FROM api_key WHERE account = :account AND (id = :text OR name = :text OR prefix = :text) AND revoked_at IS NULL

-- name: suspend
UPDATE api_key SET suspended_at = :at WHERE id = :id

-- name: revoke
UPDATE api_key SET revoked_at = COALESCE(revoked_at, :at) WHERE id = :id
