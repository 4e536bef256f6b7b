"""The offline agent answers from the chat's files with rules and exact arithmetic, without a language model
(docs/api/models.md).
"""
