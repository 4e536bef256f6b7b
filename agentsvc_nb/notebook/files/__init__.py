"""The files of a chat: list, put, get, preview, search, a gallery of the pictures; and attachments of a question."""
