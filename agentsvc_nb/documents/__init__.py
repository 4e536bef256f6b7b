"""Make untrusted content safe and readable: file types, decoding, documents as text, tables, safe text and Markdown."""
