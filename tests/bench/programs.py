"""How long until a sandbox is there, and until a program has read a table and drawn it?

python -m tests.bench.programs [--quick]
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.tools.programs import confinement, running
from agentsvc_nb.tools.programs.confinement import Confinement
from agentsvc_nb.tools.programs.running import Program
from tests.bench.tables import write

ROWS: Final = 20_000
CHART: Final = (
    "import pandas as pd\nimport matplotlib.pyplot as plt\n"
    "pd.read_csv('sales.csv').groupby('channel').revenue.sum().plot.bar()\nplt.savefig('revenue.png')"
)


def main(quick: bool) -> None:
    if lacking := confinement.lacking():
        print(f"programs: left out. {lacking}")
        return
    times = 3 if quick else 20
    with tempfile.TemporaryDirectory() as made:
        table = Path(made, "sales.csv")
        write(table, ROWS)
        _told("a sandbox, until its Python has ended", times, _started)
        _told("the same Python without one", times, _bare)
        fonts = asyncio.run(running.font_list())
        _told("a program that does nothing, and its results", times, lambda: _run("", Confinement(fonts=fonts)))
        shown = Confinement({"sales.csv": table}, fonts)
        _told(f"pandas reads {ROWS:,} rows and writes a chart", times, lambda: _run(CHART, shown, "revenue.png"))


def _started() -> None:
    with Confinement().command(["-c", "pass"]) as (command, handles):
        subprocess.run(command, pass_fds=handles, check=True)


def _bare() -> None:
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)


def _run(code: str, shown: Confinement, *expected: str) -> None:
    kept: list[str] = []

    async def keep(path: str, data: bytes) -> None:
        kept.append(path)

    ending = asyncio.run(running.run(Program(code, 60.0, shown), keep))
    assert (ending.how, ending.code, kept) == ("exit", 0, [*expected]), ending


def _told(what: str, times: int, act: Callable[[], Any]) -> None:
    took, worked = [], []
    for _ in range(times):
        began, before = time.perf_counter(), _processor_seconds()
        act()
        took.append((time.perf_counter() - began) * 1000)
        worked.append((_processor_seconds() - before) * 1000)
    middle = f"{statistics.median(took):7,.0f} ms in the middle, {min(took):6,.0f} at best"
    print(f"{what:<48} {middle}; {statistics.median(worked):6,.0f} of the processor")


def _processor_seconds() -> float:
    """Of this process, and of those that it has started and that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


if __name__ == "__main__":
    main("--quick" in sys.argv)
