-- name: insert
INSERT INTO media (id, account, kind, source, url, file_name, media_type, size_bytes, sha256, duration_s, transcript,
    created_at)
VALUES (:id, :account, :kind, :source, :url, :file_name, :media_type, :size_bytes, :sha256, :duration_s, :transcript,
    :now)
RETURNING *

-- name: same
SELECT * FROM media
WHERE account = :account AND sha256 = :sha256 AND source = :source AND url = :url
ORDER BY id LIMIT 1

-- name: transcribe
UPDATE media SET transcript = :transcript WHERE id = :id AND account = :account

-- name: get
SELECT * FROM media WHERE id = :id AND account = :account
