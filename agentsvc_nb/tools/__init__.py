"""What an agent or a caller can have done: one module a tool, discovered by the catalog; `port` is what they see."""
