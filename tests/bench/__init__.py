"""Benchmarks: each prints a table and asserts nothing about time. Run them on a quiet machine."""
