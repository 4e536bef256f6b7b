-- name: insert
INSERT INTO feedback (id, account, summary, category, impact, endpoint, error_code, request_id, created_at)
VALUES (:id, :account, :summary, :category, :impact, :endpoint, :error_code, :request_id, :now)
RETURNING *

-- name: get
SELECT * FROM feedback WHERE id = :id

-- name: page
SELECT * FROM feedback WHERE account = :account AND (CAST(:status AS TEXT) IS NULL OR status = :status)
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: since
SELECT created_at FROM feedback WHERE account = :account AND created_at > :since ORDER BY created_at DESC

-- name: reply
UPDATE feedback SET status = 'answered', reply = :reply, replied_at = :now WHERE id = :id RETURNING *

-- name: close
UPDATE feedback SET status = 'closed' WHERE id = :id RETURNING *
