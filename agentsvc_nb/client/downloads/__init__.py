"""Downloads of a chat's files, to disk or into memory: verified, and resumed after a broken connection."""
