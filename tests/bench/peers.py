"""What the client is measured against, where it is installed (`pip install -e '.[test]'`), and how: turn by turn."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Final

Work = Callable[[int], None]
"""Does its thing so many times."""

OPENAI: Final = find_spec("openai") is not None
HTTPX_SSE: Final = find_spec("httpx_sse") is not None
LANGGRAPH: Final = find_spec("langgraph_sdk") is not None


def compare(works: dict[str, Work], times: int, rounds: int) -> dict[str, float]:
    """Microseconds of this process's processor for one of each: the median over rounds in which all take turns."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work(max(1, times // 10))  # imports, connections, caches
    for _ in range(rounds):
        for name, work in works.items():
            gc.collect()
            begin = time.process_time()
            work(times)
            taken[name].append((time.process_time() - begin) / times * 1e6)
    return {name: statistics.median(found) for name, found in taken.items()}


def show(title: str, found: dict[str, float]) -> None:
    """A row each; the ratio is of the first, ours, to the row's."""
    ours = next(iter(found.values()))
    print(f"{title:44} {'us':>9} {'ours to it':>11}")
    for name, us in found.items():
        print(f"{name:44} {us:9.1f} {ours / us:11.2f}")
