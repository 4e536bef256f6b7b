-- A document whose reading was broken off is tried once more; then its file says that its text was not read.
ALTER TABLE unread ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE file ADD COLUMN unread INTEGER NOT NULL DEFAULT 0;
