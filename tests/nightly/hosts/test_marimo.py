"""marimo, which has no magics and no widgets of ipywidgets: the client, our front end, and what else is shown."""

from __future__ import annotations

import html
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.lab import launched
from tests.nightly.hosts.conftest import run_module
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(400)
EVIL = "<img src=x onerror='window.bad = 1'>"
APP = f"""
import marimo

app = marimo.App()


@app.cell
def _():
    import os
    import pandas as pd
    from agentsvc_nb import AgentService, Chat, ToolForm
    from agentsvc_nb.notebook import commands
    from agentsvc_nb.notebook.state.session import Session
    return AgentService, Chat, Session, ToolForm, commands, os, pd


@app.cell
def _(AgentService, os, pd):
    client = AgentService(base_url=os.environ["AGENTSVC_BASE_URL"])
    out = client.map(pd.DataFrame({{"text": ["one", "two"]}}), "say {{{{text}}}}")
    print("MAPPED", list(out.answer))
    return client, out


@app.cell
def _(client):
    answer = client.ask("say **hello** {EVIL}", chat="new")
    print("ANSWERED", answer.answer)
    answer
    return (answer,)


@app.cell
def _(client):
    run = client.runs.start("say **a card**\\nwrite out/plan.md # Autumn", sync=True)
    run
    return (run,)


@app.cell
def _(client, run):
    started = client.jobs.submit("create_images", {{"request": {{"brief": "Headline: Pack light"}}}}, chat=run.chat)
    job = client.jobs.wait(started.job_id, chat=run.chat)
    job
    return (job,)


@app.cell
def _(Session, commands, job):
    commands.files_preview(Session().for_chat(job.chat), "out/plan.md")
    return


@app.cell
def _(ToolForm):
    form = ToolForm("create_images", {{"request": {{"brief": "Headline: Autumn sale"}}}})
    print("BRIEF", form.value["request"]["brief"], form.problems)
    form
    return (form,)


@app.cell
def _(Chat):
    Chat()
    return


if __name__ == "__main__":
    app.run()
"""
SHOWN = [
    "Run completed",
    "Job succeeded",
    "Autumn",
    "client.jobs.submit('create_images', {'request': {'brief': 'Headline: Autumn sale'}})",
]


@pytest.fixture
def app(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text(APP)
    return path


@pytest.fixture
def address(app: Path, environ: dict[str, str]) -> Iterator[str]:
    """The app, served for visitors."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "run", str(app), "--headless", f"--port={port}"]
    log = app.with_name("marimo.log")
    with log.open("wb") as file:
        server = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environ, cwd=app.parent)
    try:
        until(lambda: server.poll() is not None or "URL:" in log.read_text())
        assert server.poll() is None, log.read_text()
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait(20)


def test_an_app_runs_as_a_script(app: Path, environ: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, app], env=environ, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    assert "MAPPED ['one', 'two']" in done.stdout
    assert "ANSWERED **hello**" in done.stdout
    assert "BRIEF Headline: Autumn sale {}" in done.stdout


def test_an_exported_page_has_all_that_the_cells_show(app: Path, environ: dict[str, str]) -> None:
    page = app.with_name("page.html")
    done = run_module("marimo", "export", "html", app, "-o", page, environ=environ)
    assert done.returncode == 0, done.stderr
    exported = html.unescape(page.read_text().replace("\\u0026", "&"))
    assert [words for words in SHOWN if words not in exported] == []


def test_a_visitor_uses_a_form_and_a_chat(address: str) -> None:
    with launched() as browser:
        page = browser.new_page()
        page.goto(address)
        body = page.locator("body")
        for words in SHOWN:
            expect(body).to_contain_text(words)
        expect(body).to_contain_text(f"**hello** {EVIL}")
        expect(body.get_by_role("heading", name="Autumn")).to_have_count(1)
        expect(body).not_to_contain_text("Traceback")
        form = page.locator(".asvc-form")
        form.get_by_label("Count").fill("0")
        page.keyboard.press("Tab")
        expect(form.get_by_text("At least 1.", exact=True)).to_be_visible()
        form.get_by_label("Count").fill("1")
        form.get_by_role("button", name="Create").click()
        expect(form).to_contain_text("✓ succeeded")
        chat = page.locator(".asvc-chat")
        page.get_by_label("Message").fill(f"say **good** day {EVIL}")
        page.get_by_label("Message").press("Enter")
        expect(chat.locator("strong", has_text="good")).to_have_count(1)
        expect(chat).to_contain_text("✓ completed")
        assert page.evaluate("window.bad") is None
