"""All benchmarks of the service and of the client, one after the other: `python -m tests.bench [--quick]`.

Fails for what is wrong (a gap, a wrong answer, memory that grows), never for being slow.
"""

from __future__ import annotations

import sys

from tests.bench import (
    asking,
    calls,
    context,
    deadlines,
    decoding,
    first_call,
    first_event,
    followers,
    frames,
    idle_streams,
    mcp,
    memory,
    notebook,
    pictures,
    previews,
    programs,
    reads,
    s3,
    search,
    starts,
    tables,
    tasks,
    transfers,
    uploads,
)
from tests.bench.cluster import __main__ as cluster

if __name__ == "__main__":
    client = (first_call, calls, decoding, deadlines, transfers, frames, previews)
    service = (
        reads,
        starts,
        first_event,
        followers,
        idle_streams,
        uploads,
        s3,
        cluster,
        mcp,
        memory,
        pictures,
        search,
        tables,
        tasks,
        programs,
        asking,
        context,
        notebook,
    )
    for benchmark in (*client, *service):
        benchmark.main("--quick" in sys.argv)
        print()
