"""The files of a chat: list, upload, download, preview and search files, show pictures, attach files to questions."""
