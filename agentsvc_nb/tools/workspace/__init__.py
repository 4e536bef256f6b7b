"""Define the tools for a chat's files. Only agents get them, because HTTP clients have endpoints for files."""
