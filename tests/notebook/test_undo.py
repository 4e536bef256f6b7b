"""`%runs undo` and `%runs redo`, and the diffs of an answer's tool calls; against a real service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.notebook.errors import AskError
from tests.notebook.allowlist import offences
from tests.notebook.shells import bundle_of

pytestmark = pytest.mark.usefixtures("connected")


def edit(path: str, old: str, new: str) -> str:
    return f"call edit_file {json.dumps({'path': path, 'old': old, 'new': new})}"


def test_a_run_is_undone_and_redone(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("prices.csv").write_text("mine")
    terminal.cell("%%ask --file prices.csv\nsay x")
    run = terminal.cell("%%ask\nwrite uploads/prices.csv ruined\nwrite new.md Hello").run_id
    capsys.readouterr()
    terminal.cell("%runs undo last")
    assert capsys.readouterr().out.splitlines() == [
        f"Run {run[:8]} is undone.",
        "- new.md: removed; its versions are kept",
        "- uploads/prices.csv: restored, as version 3",
        f"`%runs redo {run[:8]}` restores the changes.",
    ]
    assert "file changes undone" in terminal.cell("%runs show last").shown["text/plain"]
    assert bundle_of(terminal.cell("%runs"))["text/plain"].count("✓ completed, undone") == 1
    capsys.readouterr()
    terminal.cell(f"%runs redo {run[:8]}")
    assert "undone" not in bundle_of(terminal.cell("%runs"))["text/plain"]
    assert "its changes are in force" in capsys.readouterr().out
    Path("prices.csv").write_text("mine, corrected")
    terminal.cell("%files put prices.csv")
    terminal.cell("%runs undo last")
    out = capsys.readouterr().out
    assert "- uploads/prices.csv: left as it is, because it was edited after the run" in out
    assert f"`%runs undo {run[:8]} --force` also changes the edited files." in out
    terminal.cell("%runs undo last --force")
    assert "- uploads/prices.csv: restored" in capsys.readouterr().out
    with pytest.raises(AskError, match="The run is missing"):
        terminal.cell("%runs undo")


def test_an_answer_shows_what_its_calls_changed_in_files(terminal: Any) -> None:
    terminal.cell("%%ask\nwrite a.md one\nsay x")
    call = edit("a.md", "one", "<script>two</script>")
    html = bundle_of(terminal.cell(f"%%ask\n{call}\nsay done"))["text/html"]
    assert offences(html) == []
    assert "1 line added, 1 removed" in html
    assert ">-one</span>" in html
    assert ">+&lt;script&gt;two&lt;/script&gt;</span>" in html


def test_the_cell_of_the_answer_says_that_its_run_was_undone(kernel: Any) -> None:
    kernel.cell("%%ask\nwrite a.md one\nsay the answer", cell_id="a")
    answered = kernel.shown
    kernel.cell("%runs undo last", cell_id="b")
    [output] = answered.outputs
    assert output["text/plain"].startswith("The file changes of this run were undone.")
    assert "the answer" in output["text/plain"]
    assert offences(output["text/html"]) == []
    kernel.cell("%runs redo last", cell_id="c")
    assert "Undone" not in answered.outputs[0]["text/plain"]
