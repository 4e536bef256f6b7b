"""marimo, which has no magics: the client, and the functions behind the magics."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosts.conftest import run_module

pytestmark = pytest.mark.hosts

APP = """
import marimo

app = marimo.App()


@app.cell
def _():
    import os
    import pandas as pd
    from agentsvc_nb import AgentService
    from agentsvc_nb.notebook.commands import ask
    from agentsvc_nb.notebook.host import TerminalOutput
    from agentsvc_nb.notebook.question import Question
    from agentsvc_nb.notebook.session import Session
    from agentsvc_nb.notebook.stream import StaticScreen
    return AgentService, Question, Session, StaticScreen, TerminalOutput, ask, os, pd


@app.cell
def _(AgentService, os, pd):
    client = AgentService(base_url=os.environ["AGENTSVC_BASE_URL"])
    out = client.map(pd.DataFrame({"text": ["one", "two"]}), "say {{text}}")
    print("MAPPED", list(out.answer))
    return client, out


@app.cell
def _(Question, Session, StaticScreen, TerminalOutput, ask):
    answer = ask(Session(), Question("say **hello** from marimo"), StaticScreen(TerminalOutput()))
    return (answer,)


@app.cell
def _(client):
    run = client.runs.start("say **a card**", sync=True)
    run
    return (run,)


if __name__ == "__main__":
    app.run()
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text(APP)
    return path


def test_an_app_runs_as_a_script(app: Path, environ: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, app], env=environ, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    assert "MAPPED ['one', 'two']" in done.stdout
    assert "**hello** from marimo" in done.stdout
    assert "✓ completed" in done.stdout


def test_an_exported_page_has_the_cards(app: Path, environ: dict[str, str]) -> None:
    page = app.with_name("page.html")
    done = run_module("marimo", "export", "html", app, "-o", page, environ=environ)
    assert done.returncode == 0, done.stderr
    assert "Run completed" in page.read_text()
