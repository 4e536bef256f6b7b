"""Requests: files to send, options, address and key, retries, deadline, errors, and the history of past requests."""
