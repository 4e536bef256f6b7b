"""Foreign content made safe and readable: sniffing, decoding, documents to text, tables, safe text and Markdown."""
