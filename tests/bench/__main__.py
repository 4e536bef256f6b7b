"""All benchmarks, one after the other: `python -m tests.bench [--quick]`."""

from __future__ import annotations

import sys

from tests.bench import client, programs, search, service, start, transfers

if __name__ == "__main__":
    for benchmark in (start, client, transfers, service, programs, search):
        benchmark.main("--quick" in sys.argv)
