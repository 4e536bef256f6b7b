"""How long a user waits before anything happens, against a peer in the same run.

python -m tests.bench.start
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from jupyter_client.manager import start_new_kernel

from agentsvc_nb import embedded

ROUNDS = 7
TIMED = """\
import time
begin = time.perf_counter(), time.process_time()
{}
print(time.perf_counter() - begin[0], time.process_time() - begin[1])
"""


class Took(NamedTuple):
    """Seconds on the clock, and of the processor."""

    clock: float
    processor: float


def main() -> None:
    print(f"{'what':44} {'ms':>7}   {'against':34} {'ms':>7}  ratio")
    compare("import agentsvc_nb", imported("agentsvc_nb"), "import httpx", imported("httpx"))
    client = imported("agentsvc_nb.client.api")
    compare("from agentsvc_nb import AgentService", client, "import httpx, pydantic", imported("httpx, pydantic.main"))
    loading = "get_ipython().run_line_magic('load_ext', 'agentsvc_nb')"
    pandas = partial(_clock_in_kernel, "import pandas")
    compare("%load_ext agentsvc_nb, warm kernel", partial(_clock_in_kernel, loading), "pandas, warm kernel", pandas)
    start = partial(in_new_folder, embedded.find_or_start)
    compare("embedded service, started until it answers", start, "import jupyterlab", imported("jupyterlab"))


def compare(what: str, ours: Callable[[], float], against: str, peer: Callable[[], float]) -> None:
    """By turns, so that what the machine does meanwhile falls on both."""
    _ = ours(), peer()  # compiles
    rounds = [(ours(), peer()) for _ in range(ROUNDS)]
    mine, theirs = (statistics.median(column) * 1000 for column in zip(*rounds, strict=True))
    print(f"{what:44} {mine:7.1f}   {against:34} {theirs:7.1f}  {mine / theirs:5.2f}")


def imported(module: str) -> Callable[[], float]:
    """A fresh interpreter's import, without the interpreter's own start."""
    return lambda: of_fresh_interpreter(f"import {module}")[0]


@contextlib.contextmanager
def as_installed() -> Iterator[None]:
    """Modules are compiled once, as they are where packages are installed, whatever this process was told."""
    before = os.environ.copy()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def of_fresh_interpreter(code: str) -> Took:
    done = subprocess.run([sys.executable, "-c", TIMED.format(code)], capture_output=True, check=True, text=True)
    return took(done.stdout)


def in_kernel(code: str) -> Took:
    """In a kernel that has run a cell before."""
    manager, client = start_new_kernel()
    try:
        client.execute_interactive("1 + 1", output_hook=lambda message: None)
        printed: list[str] = []

        def hook(message: dict[str, dict[str, str]]) -> None:
            printed.append(message["content"].get("text", ""))

        client.execute_interactive(TIMED.format(code), output_hook=hook)
        return took("".join(printed))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _clock_in_kernel(code: str) -> float:
    return in_kernel(code)[0]


def took(printed: str) -> Took:
    return Took(*map(float, printed.split()))


def in_new_folder(use: Callable[[Path], object]) -> float:
    """Seconds that `use` takes in an empty data folder."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        begin = time.perf_counter()
        use(data)
        took = time.perf_counter() - begin
        embedded.stop(data)
    return took


if __name__ == "__main__":
    with as_installed():
        main()
