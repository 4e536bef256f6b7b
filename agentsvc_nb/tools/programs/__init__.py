"""Run Python programs that a model wrote in a sandbox that contains only the chat's files (docs/decisions/15)."""
