"""All benchmarks of the service and of the client, one after the other: `python -m tests.bench [--quick]`.

Fails for what is wrong (a gap, a wrong answer, memory that grows), never for being slow.
"""

from __future__ import annotations

import sys

from tests.bench import calls, decoding, first_event, followers, memory, pictures, reads, search, starts, uploads

if __name__ == "__main__":
    for benchmark in (calls, decoding, reads, starts, first_event, followers, uploads, memory, pictures, search):
        benchmark.main("--quick" in sys.argv)
        print()
