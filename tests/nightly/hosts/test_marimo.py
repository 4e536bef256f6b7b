"""marimo, which has no magics and no widgets of ipywidgets: the client, our front end, and what else is shown."""

from __future__ import annotations

import html
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect, sync_playwright

from tests.browser.lab import CHROMIUM
from tests.nightly.hosts.conftest import run_module
from tests.support.waiting import until

EVIL = "<img src=x onerror='window.bad = 1'>"
APP = f"""
import marimo

app = marimo.App()


@app.cell
def _():
    import os
    import pandas as pd
    from agentsvc_nb import AgentService, Chat, Files, Gallery, ToolForm
    from agentsvc_nb.notebook import commands
    from agentsvc_nb.notebook.state.session import Session
    return AgentService, Chat, Files, Gallery, Session, ToolForm, commands, os, pd


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
def _(Files, job):
    Files(job.chat)
    return


@app.cell
def _(Gallery, job):
    Gallery(chat=job.chat)
    return


@app.cell
def _(Session, commands, job):
    commands.files_preview(Session().for_chat(job.chat), "out/plan.md")
    return


@app.cell
def _(ToolForm):
    form = ToolForm("create_images", {{"request": {{"brief": "Autumn sale"}}}})
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
    "images/pack-light",
    "Autumn",
    "client.jobs.submit('create_images', {'request': {'brief': 'Autumn sale'}})",
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


@pytest.fixture
def page(address: str) -> Iterator[Page]:
    executable = shutil.which("chromium")
    assert executable, "install the chromium package"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=[*CHROMIUM])
        opened = browser.new_page()
        opened.goto(address)
        yield opened
        browser.close()


def test_an_app_runs_as_a_script(app: Path, environ: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, app], env=environ, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    assert "MAPPED ['one', 'two']" in done.stdout
    assert "ANSWERED **hello**" in done.stdout
    assert "BRIEF Autumn sale {}" in done.stdout


def test_an_exported_page_has_all_that_the_cells_show(app: Path, environ: dict[str, str]) -> None:
    page = app.with_name("page.html")
    done = run_module("marimo", "export", "html", app, "-o", page, environ=environ)
    assert done.returncode == 0, done.stderr
    exported = html.unescape(page.read_text().replace("\\u0026", "&"))
    assert [words for words in SHOWN if words not in exported] == []


def test_a_visitor_sees_static_cards_tables_and_pictures(page: Page) -> None:
    body = page.locator("body")
    for words in SHOWN:
        expect(body).to_contain_text(words)
    expect(body).to_contain_text(f"**hello** {EVIL}")
    expect(body.get_by_text("A gallery of chat")).to_have_count(1)
    expect(body.get_by_role("heading", name="Autumn")).to_have_count(1)
    expect(body).not_to_contain_text("Traceback")
    assert page.evaluate("window.bad") is None


def test_a_visitor_looks_through_files_and_pictures(page: Page) -> None:
    files = page.locator(".asvc-files").first
    files.get_by_role("row", name="pack-light").get_by_role("button").press("Enter")
    expect(files.get_by_role("group", name="Preview of pack-light").locator("img")).to_have_count(1)
    notes = FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"mine")
    files.locator("input[type=file]").set_input_files(notes)
    expect(files).to_contain_text("1 sent: notes.txt")
    gallery = page.locator(".asvc-files").last
    gallery.locator("li button").press("Enter")
    expect(gallery.get_by_role("group", name="Preview of")).to_be_visible()
    expect(gallery.locator(".asvc-pair img")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(gallery.locator("li button")).to_be_focused()


def test_a_visitor_fills_in_a_form(page: Page) -> None:
    form = page.locator(".asvc-form")
    expect(form.get_by_label("Brief")).to_have_value("Autumn sale")
    form.get_by_label("Count").fill("0")
    page.keyboard.press("Tab")
    expect(form.get_by_text("At least 1.", exact=True)).to_be_visible()
    form.get_by_label("Count").fill("1")
    form.get_by_role("button", name="Create").click()
    expect(form).to_contain_text("✓ succeeded")
    expect(form.locator("figure img")).to_have_count(1)


def test_a_visitor_talks_with_the_agent(page: Page) -> None:
    expect(page.get_by_label("Message")).to_be_visible()
    page.get_by_label("Message").fill(f"say **good** day {EVIL}\nwrite out/a.txt hi")
    page.get_by_label("Message").press("Enter")
    chat = page.locator(".asvc-chat")
    expect(chat.locator("strong", has_text="good")).to_have_count(1)
    expect(chat).to_contain_text("✓ completed")
    assert page.evaluate("window.bad") is None
    page.set_input_files(
        ".asvc-chat input[type=file]", {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"mine"}
    )
    page.get_by_role("button", name="Remove notes.txt").wait_for()
    page.get_by_label("Message").fill("say got it")
    page.get_by_role("button", name="Send").click()
    expect(chat).to_contain_text("notes.txt")
