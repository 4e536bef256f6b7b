-- name: insert
INSERT INTO oauth_code (digest, account, client_id, redirect_uri, challenge, resource, scopes, budget_cents, token_expires_at,
    expires_at)
VALUES (:digest, :account, :client_id, :redirect_uri, :challenge, :resource, :scopes, :budget_cents, :token_expires_at,
    :expires_at)

-- name: get
SELECT * FROM oauth_code WHERE digest = :digest

-- name: take
UPDATE oauth_code SET used_at = :now WHERE digest = :digest AND used_at IS NULL RETURNING *

-- name: set_key
UPDATE oauth_code SET key_id = :key_id WHERE digest = :digest

-- name: forget
DELETE FROM oauth_code WHERE expires_at < :before
