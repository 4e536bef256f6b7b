"""Tools for the files of a chat. Only agents get them, because HTTP callers have endpoints for files."""
