"""What the sandbox of `run_python` adds to a program, against the same Python without one.

python -m tests.bench.programs [--quick]
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

from agentsvc_nb.tools.programs import confinement
from agentsvc_nb.tools.programs.confinement import Confinement
from agentsvc_nb.tools.programs.running import InputFile, Program
from tests.bench.harness import Work, clock_ms, compare
from tests.unit.tools.test_program_escapes import run_alone

ROWS: Final = 20_000
CHART: Final = (
    "import matplotlib; matplotlib.use('Agg')\n"
    "import pandas as pd\nimport matplotlib.pyplot as plt\n"
    "pd.read_csv('sales.csv').groupby('channel').revenue.sum().plot.bar()\nplt.savefig('revenue.png')"
)


def main(quick: bool) -> None:
    if lacking := confinement.missing_requirement():
        print(f"programs: left out. {lacking}")
        return
    rounds = 3 if quick else 20
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "sales.csv")
        lines = (f"{n},{('Email', 'Search', 'Social')[n % 3]},{n * 7 % 500}.25" for n in range(ROWS))
        table.write_text("\n".join(["order,channel,revenue", *lines]))
        bare = [sys.executable, "-I", "-S", "-c", "pass"]
        starts: dict[str, Work] = {"in the sandbox": _started, "without": partial(_python, bare, folder)}
        compare("Python, until it has ended", "ms", starts, rounds)
        fonts = confinement.font_list()
        sha256 = hashlib.sha256(table.read_bytes()).hexdigest()
        sales = InputFile("sales.csv", table.stat().st_size, sha256, lambda: contextlib.nullcontext(table))
        charts: dict[str, Work] = {
            "in the sandbox": lambda: clock_ms(lambda: _run(Program(CHART, 60.0, [sales]), Confinement(fonts))),
            "without": partial(_python, [sys.executable, "-c", CHART], folder),
        }
        compare(f"pandas reads {ROWS:,} rows and writes a chart", "ms", charts, rounds)


def _started() -> float:
    with Confinement().command(["-c", "pass"]) as (command, handles):
        return clock_ms(lambda: subprocess.run(command, pass_fds=handles, check=True))


def _python(command: list[str], folder: str) -> float:
    return clock_ms(lambda: subprocess.run(command, check=True, cwd=folder))


def _run(program: Program, confinement: Confinement) -> None:
    kept: list[str] = []

    async def keep(path: str, data: bytes) -> None:
        kept.append(path)

    ending = asyncio.run(run_alone(program, keep, confinement))
    assert (ending.how, ending.code, kept) == ("exit", 0, ["revenue.png"]), ending


if __name__ == "__main__":
    main("--quick" in sys.argv)
