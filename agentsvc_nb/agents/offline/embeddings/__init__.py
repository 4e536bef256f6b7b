"""Sentence embeddings: vectors of texts that are near to each other when the texts mean alike
(docs/decisions/0049-meaning-by-sentence-embeddings.md)."""
