"""`map` over rows whose runs take 100 ms each, 32 at once, against the time that the runs alone take.

python -m tests.bench.rows [--quick]
"""

from __future__ import annotations

import itertools
import sys

import pandas as pd

from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
from tests.bench.harness import clock_ms, compare

AT_ONCE = 32
RUN_SECONDS = 0.1


def main(quick: bool) -> None:
    count, rounds = (160, 1) if quick else (1_000, 3)
    turns = itertools.count()
    rows = pd.DataFrame({"text": [f"row {number}" for number in range(count)]})
    with running_service() as service, AgentService(service.api_key, service.base_url) as client:

        def ask_all() -> None:
            """Ask for something else each time: what was asked before is not asked again."""
            told = f"wait {RUN_SECONDS + next(turns) / 1e6}\nsay {{{{text}}}}"
            answered = client.map(rows, told, max_concurrency=AT_ONCE)
            assert answered.answer.tolist() == rows.text.tolist(), "an answer is wrong, or in another's row"

        alone = count * RUN_SECONDS / AT_ONCE * 1000
        works = {"client.map": lambda: clock_ms(ask_all), "the runs alone": lambda: alone}
        compare(f"{count} rows of {RUN_SECONDS} s, {AT_ONCE} at once", "ms", works, rounds)


if __name__ == "__main__":
    main("--quick" in sys.argv)
