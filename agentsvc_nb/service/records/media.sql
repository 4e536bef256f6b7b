-- name: insert
INSERT INTO media (id, account, kind, source, url, file_name, media_type, size_bytes, sha256, duration_s, transcript,
    created_at)
VALUES (:id, :account, :kind, :source, :url, :file_name, :media_type, :size_bytes, :sha256, :duration_s, :transcript,
    :now)
RETURNING *

-- name: get
SELECT * FROM media WHERE id = :id AND account = :account
