"""With neither key nor address: the embedded service, started by the first cell and said in one line."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

from agentsvc_nb import embedded
from agentsvc_nb.cli import main
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.runs import CODE_REQUEST, typed
from tests.support.strangers import Stranger, key_of, port_of, repeats
from tests.support.waiting import until


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "data"
    monkeypatch.setenv("AGENTSVC_DATA", str(folder))
    monkeypatch.setenv("AGENTSVC_MODEL", "scripted")
    yield folder
    embedded.stop(folder)


def test_the_first_cell_starts_it_and_says_so_once(kernel: Any, data: Path) -> None:
    kernel.cell("%%ask\nsay hello")
    (output,) = kernel.shown.outputs
    assert "Using the embedded service at http://127.0.0.1:" in output["text/plain"]
    kernel.cell("%%ask\nsay again")
    assert "embedded" not in kernel.shown.outputs[0]["text/plain"]


def test_a_service_that_was_stopped_meanwhile_is_started_again(kernel: Any, data: Path) -> None:
    first = kernel.cell("%%ask\nsay hello\nwrite a.txt x")
    assert embedded.stop(data)
    assert list(kernel.cell("%files")["path"]) == ["a.txt"]
    assert first.chat == kernel.cell("%%ask\nsay again").chat


@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_a_stranger_on_its_port_gets_neither_key_nor_question(kernel: Any, data: Path, end: str) -> None:
    """Killed, it leaves a record that says where and who it was. A widget keeps the client that it had."""
    kernel.cell("%%ask\nsay hello")
    (ask,) = [part for part in kernel.configurables if type(part).__name__ == "Ask"]
    client, before = ask.session.client(), embedded.status(data)
    assert before is not None
    if end == "killed":
        os.kill(before.pid, signal.SIGKILL)
        until(lambda: not embedded.is_held(DataFolder(data)))
    else:
        embedded.stop(data)
    stranger = Stranger(repeats(before.instance), port_of(before.base_url))
    assert client.runs.start("say A secret question", sync=True).output == "A secret question"
    assert kernel.cell("%%ask\nsay A secret question").text.strip() == "A secret question"
    stranger.close()
    assert (stranger.visits > 0, stranger.leaks(key_of(data))) == (True, [])
    assert ask.session.client() is client


def test_a_key_that_was_replaced_closes_no_connection(kernel: Any, data: Path) -> None:
    """A run in the background may stream on it."""
    kernel.cell("%%ask\nsay hello")
    (ask,) = [part for part in kernel.configurables if type(part).__name__ == "Ask"]
    client = ask.session.client()
    assert main(["keys", "revoke", "embedded", "--data", str(data)]) == 0
    assert client.tools.list()
    assert ask.session.client() is client


def test_local_is_the_way_back_whatever_is_set(
    kernel: Any,
    data: Path,
    service: RunningService,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
    there = kernel.cell("%%ask\nsay there").chat
    kernel.cell("%agentsvc connect local")
    assert "the embedded service of this machine" in capsys.readouterr().out
    assert kernel.cell("%%ask\nsay here").chat != there
    assert "Using the embedded service at" in kernel.shown.outputs[0]["text/plain"]
    kernel.cell(f"%agentsvc connect {service.base_url}")
    assert there == kernel.cell(f"%%ask --chat {there}\nsay there").chat


def test_a_note_looks_like_the_status_line(kernel: Any, data: Path) -> None:
    kernel.cell("%%ask\nsay hello")
    html = kernel.shown.outputs[0]["text/html"]
    status, note = re.findall(r'<div class="asvc-(?:status|note)"[^>]* style="(color:[^;]*;font-size:[^;]*)', html)
    assert status == note


def test_the_offline_agent_is_free_wherever_a_price_stands(
    kernel: Any, data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AGENTSVC_MODEL", "offline")
    kernel.user_ns["df"] = pd.DataFrame({"text": ["one", "two"]})
    rows = kernel.cell("%%ask --each df\nWhat is {{text}}?")
    assert "2 of 2 rows answered · free" in repr(rows)
    kernel.cell("%%ask --each df\nWhat is {{text}}?")  # answered from what is kept, or by the same runs
    assert "2 of 2 rows answered · free" in kernel.shown.outputs[0]["text/plain"]
    kernel.cell("%%ask\nWhat is this?")
    listed = str(kernel.cell("%runs"))
    assert "free" in listed
    assert "cents" not in listed


def test_settings_that_are_wrong_are_one_short_error(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSVC_MAX_FILE_BYTES", "many")
    with pytest.raises(Exception, match="MAX_FILE_BYTES") as caught:
        kernel.cell("%%ask\nsay hello")
    assert type(caught.value).__name__ == "AskError"


def test_what_code_adds_to_a_question_is_for_language_models_alone(kernel: Any, data: Path) -> None:
    long = "x" * 250  # so that only a part of what is added is among the characters that the list of chats shows
    answer = kernel.cell(f"%%ask --code\nsay Plan {long}\nsay ```\nsay 1\nsay ```")
    assert answer.text.strip() == f"Plan {long}\n```\n1\n```"
    ready = embedded.status(data)
    assert ready is not None
    with httpx.Client(base_url=ready.base_url, follow_redirects=True) as browser:
        browser.get(ready.sign_in_url)
        pages = [browser.get(page).text for page in ("/app", f"/app/chats/{answer.chat}")]
    assert all("say Plan" in page for page in pages)
    assert not any("Answer with one" in page for page in pages)
    assert typed(f"x\n\n{CODE_REQUEST}") == "x"


def test_feedback_on_ones_own_service_speaks_of_no_team(kernel: Any, data: Path) -> None:
    kernel.cell("%feedback send 'It is slow' -o said\n%feedback -o reports\n%agentsvc -o facts")
    assert "which is your own" in kernel.user_ns["said"]
    assert "team" not in kernel.user_ns["said"].lower()
    assert "team" not in repr(kernel.user_ns["reports"]).lower()
    assert str(data) in kernel.user_ns["facts"]
