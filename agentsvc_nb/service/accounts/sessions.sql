-- name: insert
INSERT INTO session (digest, account, created_at, expires_at) VALUES (:digest, :account, :now, :expires_at)

-- name: get
SELECT * FROM session WHERE digest = :digest AND expires_at > :now

-- name: remove
DELETE FROM session WHERE digest = :digest

-- name: remove_expired
DELETE FROM session WHERE expires_at <= :now
