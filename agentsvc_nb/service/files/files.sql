-- name: put
INSERT INTO file (chat, path, file_name, name, kind, media_type, size_bytes, sha256, updated_at, run_id, output_id,
    output_type, unreadable, version, changed_by)
VALUES (:chat, :path, :file_name, :name, :kind, :media_type, :size_bytes, :sha256, :now, :run_id, :output_id,
    :output_type, :unreadable, :version, :changed_by)
ON CONFLICT (chat, path) DO UPDATE SET kind = excluded.kind, media_type = excluded.media_type,
    size_bytes = excluded.size_bytes, sha256 = excluded.sha256, updated_at = excluded.updated_at,
    run_id = excluded.run_id, output_id = excluded.output_id, output_type = excluded.output_type,
    unreadable = excluded.unreadable,
    version = excluded.version, changed_by = excluded.changed_by
RETURNING *

-- name: keep_version
INSERT INTO file_version (chat, path, version, kind, media_type, size_bytes, sha256, updated_at, run_id, output_id,
    output_type, changed_by, name, removed)
SELECT chat, path, version, kind, media_type, size_bytes, sha256, updated_at, run_id, output_id, output_type, changed_by,
    name, :removed
FROM file WHERE chat = :chat AND path = :path

-- name: drop_versions
DELETE FROM file_version WHERE chat = :chat AND path = :path AND version <= :up_to AND sha256 <> :sha256 AND version <> (
    SELECT COALESCE(MAX(version), 0) FROM file_version WHERE chat = :chat AND path = :path AND kind = 'upload')

-- name: earlier_versions
SELECT * FROM file_version WHERE chat = :chat AND path = :path ORDER BY version DESC

-- name: remove
DELETE FROM file WHERE chat = :chat AND path = :path

-- name: changed_by
SELECT path, version FROM file WHERE changed_by = :run_id
UNION ALL SELECT path, version FROM file_version WHERE changed_by = :run_id

-- name: get
SELECT * FROM file WHERE chat = :chat AND path = :path

-- name: among
SELECT * FROM file WHERE chat = :chat AND path IN

-- name: page
SELECT * FROM file WHERE chat = :chat AND path > :after ORDER BY path LIMIT :limit

-- name: all
SELECT * FROM file WHERE chat = :chat ORDER BY path

-- name: of_run
SELECT * FROM file WHERE chat = :chat AND run_id = :run_id ORDER BY path LIMIT :limit

-- name: every
SELECT * FROM file WHERE (chat, path) > (:chat, :path) ORDER BY chat, path LIMIT :limit

-- name: rename
UPDATE file SET name = :name WHERE chat = :chat AND path = :path RETURNING *

-- name: stage
INSERT INTO upload (id, account, file_name, media_type, size_bytes, sha256, created_at, expires_at)
VALUES (:id, :account, :file_name, :media_type, :size_bytes, :sha256, :created_at, :expires_at)

-- name: staged
SELECT * FROM upload WHERE id = :id AND account = :account AND expires_at > :now

-- name: expire_uploads
DELETE FROM upload WHERE id IN (SELECT id FROM upload WHERE expires_at < :before ORDER BY expires_at LIMIT :limit)

-- name: wait
INSERT INTO unread (account, chat, path) SELECT account, id, :path FROM chat WHERE id = :chat
ON CONFLICT (chat, path) DO UPDATE SET tries = 0

-- name: stop_waiting
DELETE FROM unread WHERE chat = :chat AND path = :path

-- name: accounts_waiting
SELECT DISTINCT account FROM unread

-- name: count_try
UPDATE unread SET tries = tries + 1 WHERE chat = :chat AND path = :path RETURNING tries

-- name: set_unreadable
UPDATE file SET unreadable = :reason WHERE chat = :chat AND path = :path

-- name: longest_waiting
SELECT file.*, unread.tries FROM unread JOIN file ON file.chat = unread.chat AND file.path = unread.path
WHERE unread.account = :account ORDER BY unread.tries, unread.id LIMIT 1

-- name: waiting_in
SELECT file.* FROM unread JOIN file ON file.chat = unread.chat AND file.path = unread.path
WHERE unread.chat = :chat AND unread.tries = 0 AND (CAST(:run_id AS TEXT) IS NULL OR file.run_id = :run_id) ORDER BY unread.id
