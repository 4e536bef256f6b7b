"""A field of the run record reaches the docs and `%runs`, or is left out on purpose."""

from __future__ import annotations

import re
from pathlib import Path

from agentsvc_nb.notebook.display.results import RUNS
from agentsvc_nb.wire.runs import Run, RunEntry

ROOT = Path(__file__).parents[3]
NOT_IN_THE_TABLE = {
    "object",  # the same for all
    "project",  # `%agentsvc` names the project of a notebook
    "last_error",  # the state says that it failed, `%runs show RUN` why
}
OTHER_NAMES = {"message": "prompt", "created_at": "started_at", "usage": "cost_cents"}
"""How the columns of `%runs` are called."""


def test_the_docs_explain_each_field_of_a_run() -> None:
    page = (ROOT / "docs" / "api" / "runs.md").read_text(encoding="utf-8")
    record = page.split("## Record", 1)[1].split("\n## ", 1)[0]
    first_cells = " ".join(re.findall(r"^\| (.*?) \|", record, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", first_cells)) == set(Run.model_fields) - {"object"}


def test_the_notebook_shows_each_field_of_a_listed_run() -> None:
    shown = {OTHER_NAMES.get(name, name) for name in set(RunEntry.model_fields) - NOT_IN_THE_TABLE}
    assert shown <= set(RUNS), "add a column to `%runs`, or name the field in NOT_IN_THE_TABLE"
