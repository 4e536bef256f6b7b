"""voila: a notebook as a page, run anew for each visitor."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.lab import CHROMIUM
from tests.hosts.conftest import LOAD, Written
from tests.waiting import until

pytestmark = [pytest.mark.hosts, pytest.mark.browser]


def answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


@pytest.fixture
def url(notebook: Written, environ: dict[str, str], tmp_path: Path) -> Iterator[str]:
    asked = "%%ask\nsay **hello** <img src=x onerror='window.bad = 1'>\nwrite out/a.txt hi"
    chat = "import agentsvc_nb\nagentsvc_nb.Chat(new=True)"
    path = notebook(LOAD, asked, "%files browse", chat)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "voila", str(path), "--no-browser", f"--port={port}"]
    with (tmp_path / "voila.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environ, cwd=tmp_path)
    address = f"http://127.0.0.1:{port}/"
    try:
        until(lambda: server.poll() is not None or answers(f"{address}voila/static/voila.js") or answers(address))
        assert server.poll() is None, (tmp_path / "voila.log").read_text()
        yield address
    finally:
        server.terminate()
        server.wait(20)


def test_a_visitor_sees_the_answer(url: str) -> None:
    executable = shutil.which("chromium")
    assert executable, "install the chromium package"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=[*CHROMIUM])
        page = browser.new_page()
        page.goto(url, timeout=120_000)
        page.wait_for_selector("strong:has-text('hello')", timeout=120_000)
        text = page.inner_text("body")
        assert "✓ completed" in text
        assert "out/a.txt" in text
        assert page.evaluate("window.bad") is None
        page.get_by_role("button", name="Line down").click()
        page.wait_for_selector("[role=region]:has-text('out/ (1 file)')", timeout=60_000)
        page.get_by_label("Message").fill("say **good** day")
        page.get_by_role("button", name="Send").click()
        page.wait_for_selector("strong:has-text('good')", timeout=60_000)
        browser.close()
