-- name: newest
SELECT MAX(at) AS at FROM (
    SELECT MAX(created_at) AS at FROM api_key
    UNION ALL SELECT MAX(created_at) FROM chat
    UNION ALL SELECT MAX(created_at) FROM run
    UNION ALL SELECT MAX(created_at) FROM job
    UNION ALL SELECT MAX(created_at) FROM upload
    UNION ALL SELECT MAX(created_at) FROM media
    UNION ALL SELECT MAX(updated_at) FROM file
) AS times
