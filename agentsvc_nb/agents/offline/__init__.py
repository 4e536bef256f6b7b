"""The offline agent: no language model, but rules, the chat's files and exact arithmetic (docs/api/models.md)."""
