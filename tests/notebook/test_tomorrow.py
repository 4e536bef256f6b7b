"""A notebook that is run again the next day: what asks anew, what is shown again, and which content answers.

The day is the notebook's, not the clock's: a new kernel with the same notebook path and the same journal. Only the
idempotency key of a start that was never answered depends on the date (`test_reuse.py`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from agentsvc_nb.testing import RunningService
from tests.notebook.conftest import used_shell
from tests.notebook.shells import KernelShell, loaded

CELLS = {
    "intro": "%%ask\nWhich files are there?",
    "export": "%%ask --file export.csv\nWhat is the total clicks in export.csv?",
    "follow-up": "%%ask\nWhat is the average clicks in export.csv?",
    "frame": "%%ask --df frame\nWhat is the total cost?",
    "put": "%files put prices.csv",
    "prices": "%%ask\nWhat is the total price in prices.csv?",
    "independent": "%%ask --new-chat --file other.csv\nWhat is the total visits?",
}


@dataclass
class Day:
    """What each asking cell showed: the id of its run and its answer."""

    runs: dict[str, str]
    texts: dict[str, str]

    def asked_anew(self, before: Day) -> set[str]:
        return {name for name, run in self.runs.items() if before.runs.get(name) != run}


@pytest.fixture
def run_all(offline_service: RunningService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Day]:
    """Restart the kernel of one notebook and run its cells."""
    monkeypatch.setenv("SERVICE_API_KEY", offline_service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", offline_service.base_url)
    notebook = f"/home/ada/{uuid.uuid4()}.ipynb"
    _write("export.csv", "clicks", 1, 2)
    _write("prices.csv", "price", 10, 20)
    _write("other.csv", "visits", 100, 200)

    def run(cells: dict[str, str] = CELLS) -> Day:
        day = Day({}, {})
        shells: Iterator[Any] = used_shell(loaded(KernelShell, notebook))
        shell = next(shells)
        shell.user_ns["frame"] = pd.DataFrame({"day": [0, 1], "cost": [5, 6]})
        for name, source in cells.items():
            answer = shell.cell(source, f"cell {name}")
            if source.startswith("%%ask --each"):
                day.runs[name] = " ".join(answer.frame.run_id)
            elif source.startswith("%%ask"):
                day.runs[name], day.texts[name] = answer.run_id, answer.text
        next(shells, None)
        return day

    return run


def _write(name: str, column: str, *values: int) -> None:
    Path(name).write_text(
        "".join(f"{line}\n" for line in (f"day,{column}", *(f"{n},{v}" for n, v in enumerate(values))))
    )


@pytest.mark.parametrize(
    ("changed", "anew", "answers"),
    [
        (
            "export.csv",
            {"export", "follow-up", "frame", "prices"},
            {"export": "7", "follow-up": "3.5", "frame": "11", "prices": "30"},
        ),
        ("prices.csv", {"prices"}, {"export": "3", "follow-up": "1.5", "frame": "11", "prices": "70"}),
    ],
)
def test_a_change_asks_the_cells_that_depend_on_it_once(
    run_all: Callable[..., Day], changed: str, anew: set[str], answers: dict[str, str]
) -> None:
    first = run_all()
    _write("export.csv", "clicks", *((3, 4) if changed == "export.csv" else (1, 2)))
    _write("prices.csv", "price", *((30, 40) if changed == "prices.csv" else (10, 20)))
    second = run_all()
    assert second.asked_anew(first) == anew
    for name, value in answers.items():
        assert second.texts[name].splitlines()[0].endswith(f": {value}**"), second.texts[name]
    assert run_all().runs == second.runs


def test_the_old_content_shows_the_old_answers_and_answers_new_questions(run_all: Callable[..., Day]) -> None:
    first = run_all()
    _write("export.csv", "clicks", 3, 4)
    run_all()
    _write("export.csv", "clicks", 1, 2)
    assert run_all().runs == first.runs
    added = {"intro": CELLS["intro"], "export": CELLS["export"], "new": CELLS["follow-up"]}
    third = run_all(added)
    assert third.asked_anew(first) == {"new"}
    assert "Average clicks: 1.5" in third.texts["new"], "not of the content that replaced it in the meantime"


def test_rows_depend_on_files_of_cells_above_them_only(run_all: Callable[..., Day]) -> None:
    above = {"put": CELLS["put"], "export": CELLS["export"]}
    rows = {"rows": "%%ask --each frame\nWhat is the total price in prices.csv on day {{day}}?"}
    below = {"frame": CELLS["frame"], "put below": "%files put other.csv", "last": "%%ask\nWhich files are there?"}
    first = run_all(above | rows | below)
    assert run_all(above | rows | below).runs == first.runs
    assert run_all(above | rows).runs == {name: first.runs[name] for name in ("export", "rows")}
    _write("other.csv", "visits", 300, 400)
    assert run_all(above | rows | below).runs["rows"] == first.runs["rows"]
    _write("export.csv", "clicks", 30, 50)
    changed = run_all(above | rows | below)
    assert not set(changed.runs["rows"].split()) & set(first.runs["rows"].split())
