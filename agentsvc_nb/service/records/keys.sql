-- name: insert
INSERT INTO api_key (id, account, name, prefix, digest, member, scopes, budget_cents, created_at)
VALUES (:id, :account, :name, :prefix, :digest, :member, :scopes, :budget_cents, :now) RETURNING *

-- name: by_digest
SELECT * FROM api_key WHERE digest = :digest

-- name: meta
SELECT value FROM meta WHERE name = :name

-- name: set_meta
INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING
