"""The offline agent: rules, the chat's files and exact arithmetic instead of a language model (docs/api/models.md)."""
