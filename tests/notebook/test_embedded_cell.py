"""With neither key nor address: the embedded service, started by the first cell and said in one line."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import embedded
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.testing import RunningService
from tests.notebook.shells import session_of
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


@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_a_stranger_on_its_port_gets_neither_key_nor_question(kernel: Any, data: Path, end: str) -> None:
    """Killed, it leaves a record that says where and who it was. A widget keeps the client that it had."""
    kernel.cell("%%ask\nsay hello")
    session = session_of(kernel)
    client, before = session.client(), embedded.status(data)
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
    assert session.client() is client


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


def test_settings_that_are_wrong_are_one_short_error(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSVC_MAX_FILE_BYTES", "many")
    with pytest.raises(Exception, match="MAX_FILE_BYTES") as caught:
        kernel.cell("%%ask\nsay hello")
    assert type(caught.value).__name__ == "AskError"
