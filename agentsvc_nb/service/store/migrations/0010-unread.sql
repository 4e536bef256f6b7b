-- Files whose text is still to be read and indexed (docs/decisions/0035-costly-work-in-lanes.md). A row is written in the
-- transaction that writes the file, and goes in the one that indexes its text.
CREATE TABLE unread (
    id      INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    chat    TEXT NOT NULL,
    path    TEXT NOT NULL,
    UNIQUE (chat, path)
);
CREATE INDEX unread_of_account ON unread (account, id);
