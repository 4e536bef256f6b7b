-- Earlier versions of files (docs/api/files.md "Versions"): the row that a write with another content replaces. `changed_by` is
-- the run that made the version; `run_id` is the run that wrote it last, perhaps with the same content.
ALTER TABLE file ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE file ADD COLUMN changed_by TEXT;
CREATE TABLE file_version (
    chat        TEXT NOT NULL,
    path        TEXT NOT NULL,
    version     BIGINT NOT NULL,
    kind        TEXT NOT NULL,
    media_type  TEXT NOT NULL,
    size_bytes  BIGINT NOT NULL,
    sha256      TEXT NOT NULL,
    updated_at  BIGINT NOT NULL,
    run_id      TEXT,
    output_id   TEXT,
    output_type TEXT,
    changed_by  TEXT,
    PRIMARY KEY (chat, path, version)
);
CREATE INDEX file_changed_by ON file (changed_by) WHERE changed_by IS NOT NULL;
CREATE INDEX file_version_changed_by ON file_version (changed_by) WHERE changed_by IS NOT NULL;
