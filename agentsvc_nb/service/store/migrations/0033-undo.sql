-- Changes what earlier versions read or write.
-- Runs whose file changes were undone (docs/api/runs.md "Undo"). A file that an undo removed has no row in `file`: its last version
-- is marked, with the member's own name, and a new file at the path continues the numbers.
ALTER TABLE run ADD COLUMN undone_at BIGINT;
ALTER TABLE file_version ADD COLUMN removed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE file_version ADD COLUMN name TEXT;
