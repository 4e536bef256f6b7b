-- name: insert
INSERT INTO chat (id, account, project, label, created_at) VALUES (:id, :account, :project, :label, :now)

-- name: get
SELECT * FROM chat WHERE id = :id AND account = :account

-- name: owner
SELECT account FROM chat WHERE id = :id

-- name: of_label
SELECT * FROM chat
WHERE account = :account AND COALESCE(project, '') = COALESCE(CAST(:project AS TEXT), '') AND label = :label AND retired_at IS NULL

-- name: retire
UPDATE chat SET retired_at = COALESCE(retired_at, :now) WHERE id = :id AND account = :account

-- name: project
SELECT * FROM project WHERE id = :id AND account = :account

-- name: insert_project
INSERT INTO project (id, account, name, instructions, created_at)
VALUES (:id, :account, :name, :instructions, :now) RETURNING *

-- name: update_project
UPDATE project SET name = COALESCE(CAST(:name AS TEXT), name),
    instructions = COALESCE(CAST(:instructions AS TEXT), instructions)
WHERE id = :id AND account = :account RETURNING *

-- name: projects
SELECT * FROM project WHERE account = :account ORDER BY created_at, id

-- name: recent
SELECT chat.id, chat.project, chat.retired_at, run.run_id, run.status,
    SUBSTR(CAST(run_message.message AS BLOB), 1, 4 * :chars) AS message, -- as bytes: that of a text ends at a NUL
    COALESCE(run.created_at, chat.created_at) AS used_at
FROM chat LEFT JOIN run ON run.run_id = (
    SELECT run_id FROM run WHERE run.chat = chat.id ORDER BY rowid DESC LIMIT 1)
LEFT JOIN run_message ON run_message.run_id = run.run_id
WHERE chat.account = :account AND (CAST(:before AS BIGINT) IS NULL OR COALESCE(run.created_at, chat.created_at) < :before)
ORDER BY used_at DESC, chat.id LIMIT :limit

-- name: recent, in PostgreSQL
SELECT chat.id, chat.project, chat.retired_at, run.run_id, run.status,
    LEFT(run_message.message, CAST(2 * :chars AS INTEGER)) AS message, -- a NUL is written as two characters
    COALESCE(run.created_at, chat.created_at) AS used_at
FROM chat LEFT JOIN run ON run.run_id = (
    SELECT run_id FROM run WHERE run.chat = chat.id ORDER BY rowid DESC LIMIT 1)
LEFT JOIN run_message ON run_message.run_id = run.run_id
WHERE chat.account = :account AND (CAST(:before AS BIGINT) IS NULL OR COALESCE(run.created_at, chat.created_at) < :before)
ORDER BY used_at DESC, chat.id LIMIT :limit
