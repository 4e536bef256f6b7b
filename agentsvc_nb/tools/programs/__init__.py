"""Runs a model's Python programs, in a sandbox that reaches nothing but the files of the chat (docs/decisions/15)."""
