"""Keep what a version makes: a data folder, a journal and a notebook with its outputs, for `test_made_before.py`.

    git worktree add ../earlier 0b72484a
    python -m tests.service.process.kept.make ../earlier 2026-11-26

writes `2026-11-26.zip` beside this. The code of the checkout makes them; only this module and its kernel are today's.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

import nbformat

from tests.notebook.jupyter import Jupyter, Run, jupyter

CELLS: Final = (
    "%load_ext agentsvc_nb\n%files put brief.md products.csv",
    "%%ask -o answer\nWhich product has the highest price_eur?",
    "%%ask\nWho is the audience?",
    '%%job create_images\nrequest: {"brief": "Headline: Pack light", "outputs": {"mode": "count", "count": 1}}',
    "%files",
)
INPUTS: Final = {
    "brief.md": "# Autumn\n\nThe audience is hikers who carry their own tent.\n",
    "products.csv": "product,price_eur,units\nTent,249.00,3\nStove,59.90,12\n",
}
NOTEBOOK: Final = "made.ipynb"
"""Its path as the kernel is told it (`JPY_SESSION_NAME`): the journal names notebooks by it."""
MADE_ANEW: Final = {"lock", "ready.json", "serve.log", "port"}
"""What a service writes for as long as it runs, or names this machine."""


def make(checkout: Path, to: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _work(Path(folder), checkout)
        for database in Path(folder).rglob("*.sqlite*"):
            if database.suffix in (".sqlite", ".sqlite3"):
                _whole(database)
        _pack(Path(folder), to)


def _work(folder: Path, checkout: Path) -> None:
    for name, text in INPUTS.items():
        (folder / name).write_text(text)
    data = folder / "data"
    env = {"PYTHONPATH": str(checkout), "JPY_SESSION_NAME": NOTEBOOK, "AGENTSVC_DATA": str(data)}
    try:
        with jupyter(folder, **env) as kernel:
            cells = [_cell(kernel, number, code) for number, code in enumerate(CELLS)]
    finally:
        subprocess.run([sys.executable, "-m", "agentsvc_nb", "stop", "--data", data], env=os.environ | env, check=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / NOTEBOOK)


def _cell(kernel: Jupyter, number: int, code: str) -> nbformat.NotebookNode:
    run: Run = kernel.run(code, cell_id=f"c{number}")
    assert run.error is None, run.error
    shown = [nbformat.v4.new_output("display_data", data=data) for data in [*run.cell.outputs, *run.results]]
    printed = [nbformat.v4.new_output("stream", text=run.printed)] if run.printed else []
    return nbformat.v4.new_code_cell(code, id=f"c{number}", execution_count=number + 1, outputs=[*printed, *shown])


def _whole(database: Path) -> None:
    """All in one file, without the log beside it."""
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("VACUUM")
    connection.close()


def _pack(folder: Path, to: Path) -> None:
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(folder.rglob("*")):
            inside = file.relative_to(folder)
            if file.is_file() and inside.parts[0] in ("data", "state", NOTEBOOK) and file.name not in MADE_ANEW:
                archive.write(file, inside)


if __name__ == "__main__":
    make(Path(sys.argv[1]).absolute(), Path(__file__).parent / f"{sys.argv[2]}.zip")
