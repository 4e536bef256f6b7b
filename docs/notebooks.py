"""Run a copy of the notebooks on a fresh embedded service, and store what they show.

    python -m docs.notebooks [NAME ...]

CI compares a run with what is stored (`tests/notebook/test_notebooks.py`).
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from agentsvc_nb import embedded

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


@contextmanager
def fresh_service() -> Iterator[dict[str, str]]:
    """The environment of a new user: an empty data folder, no key; the service that it starts is ended."""
    with tempfile.TemporaryDirectory() as folder:
        ours = {"AGENTSVC_DATA": f"{folder}/data", "XDG_DATA_HOME": folder, "XDG_STATE_HOME": folder}
        ours["IPYTHONDIR"] = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTSVC_", "SERVICE_API"))}
        try:
            yield kept | ours
        finally:
            embedded.stop(ours["AGENTSVC_DATA"])


def run(path: Path, env: dict[str, str], folder: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a run from top to bottom, in a copy of all notebooks and their data: `folder`,
    where the files that it makes stay. Raises when a cell fails."""
    shutil.copytree(path.parent, folder)
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=120, record_timing=False, coalesce_streams=True)
    client.resources = {"metadata": {"path": str(folder)}}
    client.execute(env=env)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}  # as JupyterLab writes
    return notebook


def main(names: list[str]) -> None:
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        with fresh_service() as env, tempfile.TemporaryDirectory() as folder:
            notebook = run(path, env, Path(folder) / "notebooks")
        nbformat.write(notebook, path)
        print(f"ran {path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
