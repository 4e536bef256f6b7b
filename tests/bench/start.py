"""How long a user waits before anything happens, against a peer in the same run.

python -m tests.bench.start
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from jupyter_client.manager import start_new_kernel

from agentsvc_nb import embedded

ROUNDS = 7
IN_KERNEL = "import time; begin = time.perf_counter(); {}; print(time.perf_counter() - begin)"


def main() -> None:
    print(f"{'what':44} {'ms':>7}   {'against':34} {'ms':>7}  ratio")
    compare("import agentsvc_nb", imported("agentsvc_nb"), "import httpx", imported("httpx"))
    client = imported("agentsvc_nb.client.surface")
    compare("from agentsvc_nb import AgentService", client, "import httpx, pydantic", imported("httpx, pydantic.main"))
    load = in_kernel("get_ipython().run_line_magic('load_ext', 'agentsvc_nb')")
    compare("%load_ext agentsvc_nb, warm kernel", load, "import pandas, warm kernel", in_kernel("import pandas"))
    start = partial(in_new_folder, embedded.find_or_start)
    compare("embedded service, started until it answers", start, "import jupyterlab", imported("jupyterlab"))


def compare(what: str, ours: Callable[[], float], against: str, peer: Callable[[], float]) -> None:
    """By turns, so that what the machine does meanwhile falls on both."""
    rounds = [(ours(), peer()) for _ in range(ROUNDS)]
    mine, theirs = (statistics.median(column) * 1000 for column in zip(*rounds, strict=True))
    print(f"{what:44} {mine:7.1f}   {against:34} {theirs:7.1f}  {mine / theirs:5.2f}")


def imported(module: str) -> Callable[[], float]:
    """A fresh interpreter's import, without the interpreter's own start."""
    code = f"import time; begin = time.perf_counter(); import {module}; print(time.perf_counter() - begin)"
    return lambda: float(
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    )


def in_kernel(code: str) -> Callable[[], float]:
    """In a kernel that has run a cell before."""

    def measure() -> float:
        manager, client = start_new_kernel()
        try:
            client.execute_interactive("1 + 1", output_hook=lambda message: None)
            printed: list[str] = []

            def hook(message: dict[str, dict[str, str]]) -> None:
                printed.append(message["content"].get("text", ""))

            client.execute_interactive(IN_KERNEL.format(code), output_hook=hook)
            return float("".join(printed))
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)

    return measure


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
    main()
