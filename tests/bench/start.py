"""How long a user waits before anything happens: imports, the first call, `%load_ext` and the embedded service.

python -m tests.bench.start [--quick]
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from jupyter_client.manager import start_new_kernel

from agentsvc_nb import embedded
from agentsvc_nb.wire.routes import ROUTES
from tests.bench.harness import Work, bare_starlette, clock_ms, compare

NOTHING: Final = json.dumps({"object": "list", "data": [], "has_more": False, "first_id": None, "last_id": None})
FIRST_CALLS: Final = {
    "agentsvc_nb": "from agentsvc_nb import AgentService; AgentService('svc_sk_x', '{}').tools.list()",
    "openai": "import openai; openai.OpenAI(api_key='x', base_url='{}/v1').models.list()",
}
LOAD: Final = "get_ipython().run_line_magic('load_ext', 'agentsvc_nb')"
TIMED: Final = "import time\nbegin = time.{clock}()\n{code}\nprint((time.{clock}() - begin) * 1000)"


def main(quick: bool) -> None:
    rounds = 1 if quick else 7
    modules = [name for name in ("agentsvc_nb", "openai") if find_spec(name)]
    with (
        _compiled_once(),
        bare_starlette(ROUTES["tools.list"].path, NOTHING.encode()) as ours,
        bare_starlette("/v1/models", NOTHING.encode()) as theirs,
    ):
        compare("import in a fresh interpreter", "CPU ms", _each(_fresh, {m: f"import {m}" for m in modules}), rounds)
        first = {
            name: code.format(ours.base_url if name == "agentsvc_nb" else theirs.base_url)
            for name, code in FIRST_CALLS.items()
            if name in modules
        }
        compare("import, client and first call in a kernel", "CPU ms", _each(_in_kernel, first), rounds)
        warm = {"%load_ext agentsvc_nb": LOAD, "import pandas": "import pandas"}
        compare("in a warm kernel", "ms", _each(partial(_in_kernel, clock="perf_counter"), warm), rounds)
        starts: dict[str, Work] = {
            "embedded service, until it answers": _embedded,
            "import jupyterlab": partial(_fresh, "import jupyterlab", "perf_counter"),
        }
        compare("a service of one's own", "ms", starts, rounds)


def _each(measure: Callable[[str], float], codes: dict[str, str]) -> dict[str, Work]:
    return {name: partial(measure, code) for name, code in codes.items()}


def _fresh(code: str, clock: str = "process_time") -> float:
    """Milliseconds in a fresh interpreter, without the interpreter's own start."""
    command = [sys.executable, "-c", TIMED.format(code=code, clock=clock)]
    return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def _in_kernel(code: str, clock: str = "process_time") -> float:
    """Milliseconds in a kernel that has run a cell before."""
    printed: list[str] = []
    manager, client = start_new_kernel()
    try:
        client.execute_interactive("1 + 1", output_hook=lambda message: None)
        client.execute_interactive(
            TIMED.format(code=code, clock=clock),
            output_hook=lambda message: printed.append(message["content"].get("text", "")),
        )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return float("".join(printed))


def _embedded() -> float:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data")
        took = clock_ms(lambda: embedded.find_or_start(data))
        embedded.stop(data)
    return took


@contextlib.contextmanager
def _compiled_once() -> Iterator[None]:
    """Compile modules once, as where packages are installed, whatever this process was told."""
    before = os.environ.copy()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


if __name__ == "__main__":
    main("--quick" in sys.argv)
