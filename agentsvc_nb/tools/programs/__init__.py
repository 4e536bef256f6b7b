"""Run a model's Python programs in a sandbox that reaches only the chat's files (docs/decisions/15)."""
