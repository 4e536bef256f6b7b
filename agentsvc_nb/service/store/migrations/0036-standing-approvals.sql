-- Approvals of further calls of a tool in a chat (docs/api/events.md "Standing approvals"): of those of one run, or of all until
-- `expires_at` (ms). With a `folder`, of those whose `path` is in it.
CREATE TABLE standing_approval (
    id         TEXT PRIMARY KEY,
    account    TEXT NOT NULL,
    chat       TEXT NOT NULL,
    run_id     TEXT,
    tool       TEXT NOT NULL,
    folder     TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT
);
CREATE INDEX standing_approval_of_account ON standing_approval (account, chat);
