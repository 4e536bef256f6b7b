"""Kept child processes for costly work on untrusted content, shared fairly between accounts."""
