"""`map` over 1,000 rows whose runs take 100 ms each, 32 at once: against the time that the runs alone would take.
And over 16 rows whose answers are held to a schema, without and with a pattern.

python -m tests.bench.rows [--quick]
"""

from __future__ import annotations

import sys
import time

import pandas as pd

from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
from tests.bench.process import cpu_seconds

AT_ONCE = 32
RUN_SECONDS = 0.1


def main(quick: bool) -> None:
    count = 160 if quick else 1_000
    rows = pd.DataFrame({"text": [f"row {number}" for number in range(count)]})
    ideal = count * RUN_SECONDS / AT_ONCE
    with running_service() as service, AgentService(service.api_key, service.base_url) as client:
        client.map(rows[:AT_ONCE], "say warm {{text}}", max_concurrency=AT_ONCE)
        began, ours, theirs = time.perf_counter(), time.process_time(), cpu_seconds(service.pid)
        out = client.map(rows, f"wait {RUN_SECONDS}\nsay {{{{text}}}}", max_concurrency=AT_ONCE)
        seconds, ours, theirs = (
            time.perf_counter() - began,
            time.process_time() - ours,
            cpu_seconds(service.pid) - theirs,
        )
        assert out.answer.tolist() == rows.text.tolist(), "an answer is wrong, or in another's row"
        began, again = time.perf_counter(), time.process_time()
        client.map(rows, f"wait {RUN_SECONDS}\nsay {{{{text}}}}", max_concurrency=AT_ONCE)
        print(
            f"{count} rows of {RUN_SECONDS} s, {AT_ONCE} at once: {seconds:.2f} s, {seconds / ideal:.2f} of the ideal"
        )
        print(f"processor a row: {ours / count * 1000:.2f} ms client, {theirs / count * 1000:.2f} ms service")
        print(
            f"the same again, nothing asked: {time.perf_counter() - began:.2f} s, {time.process_time() - again:.2f} s"
        )
        for part in ({"type": "string"}, {"type": "string", "pattern": "^row [0-9]+$"}):
            schema = {"type": "object", "properties": {"label": part}}
            began, theirs = time.perf_counter(), cpu_seconds(service.pid)
            client.map(rows[:16], 'answer {"label": "{{text}}"}', schema=schema)
            seconds, theirs = time.perf_counter() - began, cpu_seconds(service.pid) - theirs
            print(f"16 rows held to {part}: {seconds:.2f} s, {theirs:.2f} s of the service's processor")


if __name__ == "__main__":
    main("--quick" in sys.argv)
