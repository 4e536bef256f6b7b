-- name: insert
INSERT INTO chat (id, account, project, label, created_at) VALUES (:id, :account, :project, :label, :now)

-- name: get
SELECT * FROM chat WHERE id = :id AND account = :account

-- name: of_label
SELECT * FROM chat WHERE account = :account AND COALESCE(project, '') = COALESCE(:project, '') AND label = :label

-- name: project
SELECT * FROM project WHERE id = :id AND account = :account
