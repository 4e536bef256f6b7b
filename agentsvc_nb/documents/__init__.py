"""Read untrusted files: detect their types, decode them, extract text and tables, and render Markdown safely."""
