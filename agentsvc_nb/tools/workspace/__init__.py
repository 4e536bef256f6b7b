"""Tools for the files of a chat, offered to agents only: HTTP callers have endpoints for that."""
