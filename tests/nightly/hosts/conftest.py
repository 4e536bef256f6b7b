"""Notebooks in the programs that run and show them, each a process of its own, against the `scripted` model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from agentsvc_nb.testing import RunningService

ROOT = Path(__file__).parents[3]
LOAD = "%load_ext agentsvc_nb"
Written = Callable[..., Path]


@pytest.fixture
def environ(service: RunningService, tmp_path: Path) -> dict[str, str]:
    """The environment of a host: the service is named, and nothing of the developer's own is found."""
    homes = (
        "XDG_STATE_HOME",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
        "IPYTHONDIR",
        "JUPYTER_RUNTIME_DIR",
    )
    own = {name: str(tmp_path / name.lower()) for name in homes}
    there = {"SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url, "PYTHONPATH": str(ROOT)}
    plain = {"PYDEVD_DISABLE_FILE_VALIDATION": "1", "PYTHONWARNINGS": ""}
    kept = {name: value for name, value in os.environ.items() if name != "JPY_SESSION_NAME"}
    return {**kept, **own, **there, **plain}


@pytest.fixture
def notebook(tmp_path: Path) -> Written:
    """Writes a notebook of these code cells; `tags` by the number of a cell."""

    def write(*cells: str, name: str = "plan.ipynb", tags: dict[int, str] | None = None) -> Path:
        made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        for number, tag in (tags or {}).items():
            made.cells[number].metadata["tags"] = [tag]
        nbformat.write(made, tmp_path / name)
        return tmp_path / name

    return write


def run_module(module: str, *arguments: str | Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """`python -m module ...` to its end, in the folder of its first file."""
    folder = next(Path(argument).parent for argument in arguments if Path(argument).is_absolute())
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, check=False, timeout=100)
