"""Benchmarks: each prints a table and asserts nothing about time, but fails when an answer is wrong.

`python -m tests.bench --quick` runs those of the service in a minute; the full ones want a quiet machine.
"""
