"""All benchmarks of the service and of the client, one after the other: `python -m tests.bench [--quick]`.

Fails for what is wrong (a gap, a wrong answer, memory that grows), never for being slow.
"""

from __future__ import annotations

import sys

from tests.bench import (
    calls,
    decoding,
    first_call,
    memory,
    notebook,
    programs,
    reads,
    rows,
    search,
    starts,
    tables,
    transfers,
    uploads,
)

CLIENT = (first_call, calls, decoding, transfers, notebook)
SERVICE = (reads, starts, rows, uploads, memory, search, tables, programs)

if __name__ == "__main__":
    for benchmark in (*CLIENT, *SERVICE):
        benchmark.main("--quick" in sys.argv)
        print()
