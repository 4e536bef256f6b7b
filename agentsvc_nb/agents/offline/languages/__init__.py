"""What words of a language mean in questions about tables: one module of data for each language."""
