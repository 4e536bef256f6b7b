"""What each way to install brings: packages, megabytes, and how soon its first call and first answer are there.

python -m tests.bench.install [EXTRA ...]

It makes the wheel and an environment for each way, from an index: some minutes. Without extras: those to begin with.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from agentsvc_nb.wire.routes import ROUTES
from tests.bench.first_call import NOTHING, OURS
from tests.bench.peer import bare_starlette
from tests.bench.start import TIMED, Took, took
from tests.nightly.test_wheel import INSTALLED, build, fresh, run

BEGUN_WITH: Final = ("lab", "agents", "lab,agents", "local-model")
ROUNDS: Final = 7
ANSWER: Final = """\
from agentsvc_nb import local
with local() as client:
    assert client.runs.start('What is 2 + 2?', sync=True).output
"""


def main(extras: Iterable[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, bare_starlette(ROUTES["tools.list"].path, NOTHING.encode()) as server:
        work = Path(folder)
        wheel = build(work)
        ways = {"agentsvc-nb": str(wheel), **{f"agentsvc-nb[{extra}]": f"{wheel}[{extra}]" for extra in extras}}
        print(f"{'':28} {'packages':>8} {'MB':>5} {'import, ms':>11} {'first call, ms':>15} {'first answer, ms':>17}")
        for number, (way, wanted) in enumerate(ways.items()):
            python = fresh(work / str(number), wanted)
            packages, size = map(int, run(python, "-c", INSTALLED).stdout.split())
            imported = _median(python, "import agentsvc_nb").processor
            called = _median(python, OURS.format(server.base_url)).processor
            answered = _first_answer(python, work / f"data-{number}")
            print(f"{way:28} {packages:8} {size / 1e6:5.0f} {imported:11.0f} {called:15.0f} {answered:17.0f}")


def _median(python: Path, code: str) -> Took:
    """Milliseconds of fresh interpreters, without their own start; the first finds nothing in the disk's cache."""
    found = [took(run(python, "-c", TIMED.format(code)).stdout) for _ in range(ROUNDS + 1)][1:]
    return Took(*(statistics.median(column) * 1000 for column in zip(*found, strict=True)))


def _first_answer(python: Path, data: Path) -> float:
    """Milliseconds on the clock, from no service to the answer of one that it starts in an empty folder."""
    found = []
    for number in range(3):
        folder = str(data / str(number))
        found.append(took(run(python, "-c", TIMED.format(ANSWER), AGENTSVC_DATA=folder).stdout).clock)
        run(python, "-m", "agentsvc_nb", "stop", AGENTSVC_DATA=folder)
    return statistics.median(found) * 1000


if __name__ == "__main__":
    main(sys.argv[1:] or BEGUN_WITH)
