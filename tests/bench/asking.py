"""How long does an answer of the offline agent take, on a table of 200,000 rows and on ten small files, and does the
service's memory stay as it is?

Of the small files each question begins a chat of its own, with ten of them that come in 200 versions, so that what is
kept of files that were read has to give way. The memory is that of the service and all its children.

python -m tests.bench.asking [--quick]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
from tests.bench.process import cpu_seconds, resident_mb
from tests.bench.tables import ROWS, write

_BRIEF: Final = "# Brief {0}\n\n## Budget\n\nThe budget of campaign {0} is {0},000 euros.\n\n## Tone\n\nWarm and dry.\n"
_TABLE: Final = "day,channel,cost{0}\n" + "".join(f"2026-01-{day:02},Search,{day}\n" for day in range(1, 29))
FILES: Final = {
    **{f"brief{number}.md": _BRIEF.format(number).encode() for number in range(1, 6)},
    **{f"table{number}.csv": _TABLE.format(number).encode() for number in range(1, 6)},
}
QUESTIONS: Final = (
    "What is the budget of campaign 3?",
    "What is the total cost2?",
    "average cost4 per week",
    "Who is the chief zebra officer?",
    "top 3 days by cost1",
)
VERSIONS: Final = 200
GROWTH_MB: Final = 15.0
"""Over the later half. A kept text of each question's files, 12 kB, would be less: what grows is what is made of it."""


def main(quick: bool) -> None:
    asked, step = (100, 20) if quick else (1_000, 100)
    found: list[float] = []
    with running_service("offline") as service, AgentService(service.api_key, service.base_url) as client:
        _large(client, ROWS // 10 if quick else ROWS)
        print("| questions | service, MB | with children, MB | median, s | processor, s |\n|---|---|---|---|---|")
        for first in range(0, asked, step):
            worked = cpu_seconds(service.pid)
            taken = [_ask(client, number) for number in range(first, first + step)]
            worked = (cpu_seconds(service.pid) - worked) / step
            own, found = resident_mb(service.pid), [*found, sum(map(resident_mb, _family(service.pid)))]
            print(f"| {first + step} | {own:.1f} | {found[-1]:.1f} | {statistics.median(taken):.2f} | {worked:.2f} |")
    growth = found[-1] - found[len(found) // 2 - 1]
    assert growth < GROWTH_MB, f"the later half of the questions left {growth:.1f} MB"


def _large(client: AgentService, rows: int) -> None:
    """Totals of a large table, and what it does not have; the first with all that is begun for it."""
    print(f"| of {rows:,} rows | first, s | again, s |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        write(path := Path(folder) / "sales.csv", rows)
        chat = client.runs.start("Hello", files=[path], sync=True).chat
    for asked in ("Total revenue by channel", "Total cost by country", "Who is the chief zebra officer?"):
        taken = [_seconds(partial(client.runs.start, asked, chat=chat, sync=True)) for _ in range(2)]
        print(f"| {asked} | {taken[0]:.2f} | {taken[1]:.2f} |")
    print()


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _ask(client: AgentService, number: int) -> float:
    files = [(name, content + b"\n" * (number % VERSIONS)) for name, content in FILES.items()]
    return _seconds(partial(client.runs.start, QUESTIONS[number % len(QUESTIONS)], files=files, sync=True))


def _family(pid: int) -> Sequence[int]:
    """The process, its children and theirs."""
    threads = (Path(f"/proc/{pid}/task/{thread}/children") for thread in os.listdir(f"/proc/{pid}/task"))
    children = [int(child) for path in threads for child in path.read_text().split()]
    return [pid, *(one for child in children for one in _family(child))]


if __name__ == "__main__":
    main("--quick" in sys.argv)
