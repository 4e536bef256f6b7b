"""What words of a language mean: one module of data for each language."""
