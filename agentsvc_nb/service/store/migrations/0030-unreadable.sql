-- Why the text of a file, or a part of it, could not be read (docs/api/files.md "What is read"); empty if it could.
ALTER TABLE file ADD COLUMN unreadable TEXT NOT NULL DEFAULT '';
UPDATE file SET unreadable = 'Reading it takes too long or too much memory.' WHERE unread = 1;
ALTER TABLE file DROP COLUMN unread;
-- Documents of older versions are read again: as Markdown, and with the reason if they cannot be read.
INSERT INTO unread (account, chat, path) SELECT chat.account, file.chat, file.path FROM file JOIN chat ON chat.id = file.chat
WHERE file.media_type IN ('application/pdf', 'text/html', 'message/rfc822', 'application/vnd.ms-excel', 'application/x-ole-storage')
    OR file.media_type LIKE 'application/vnd.openxmlformats-officedocument.%'
ON CONFLICT (chat, path) DO NOTHING;
