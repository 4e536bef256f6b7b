"""Benchmarks: each prints what something costs, and how that compares with a named peer.

They assert nothing about time, but fail for a wrong answer or memory that grows. `python -m tests.bench [--quick]` runs
all of them, `python -m tests.bench.client [--quick]` one. The full ones need a quiet machine (Linux).
"""
