-- name: add
INSERT INTO landing_page (id, account, url, created_at) VALUES (:id, :account, :url, :now)
ON CONFLICT (account, url) DO UPDATE SET url = excluded.url
RETURNING *

-- name: get
SELECT * FROM landing_page WHERE id = :id AND account = :account

-- name: write
UPDATE landing_page SET labels = :labels, version = version + 1
WHERE id = :id AND account = :account AND version = :expected RETURNING *
