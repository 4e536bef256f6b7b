-- name: insert
INSERT INTO standing_approval (id, account, chat, run_id, tool, folder, created_at, expires_at)
VALUES (:id, :account, :chat, :run_id, :tool, :folder, :now, :expires_at) RETURNING *

-- name: of_chat
SELECT * FROM standing_approval
WHERE account = :account AND chat = :chat AND tool = :tool AND (run_id = :run_id OR expires_at > :now)
ORDER BY created_at, id

-- name: of_account
SELECT * FROM standing_approval
WHERE account = :account AND (expires_at > :now
    OR EXISTS (SELECT 1 FROM run WHERE run.run_id = standing_approval.run_id AND run.ended_at IS NULL))
ORDER BY created_at, id

-- name: delete_ended
DELETE FROM standing_approval
WHERE account = :account AND (expires_at <= :now
    OR EXISTS (SELECT 1 FROM run WHERE run.run_id = standing_approval.run_id AND run.ended_at IS NOT NULL))

-- name: delete
DELETE FROM standing_approval WHERE id = :id AND account = :account
