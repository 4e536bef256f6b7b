"""The embedded service: started by the first cell; a stranger in its place; and the way back to it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsvc_nb import embedded
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.testing import RunningService
from tests.notebook.allowlist import offences
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


def test_the_first_cell_starts_it_and_a_stranger_on_its_port_gets_neither_key_nor_question(
    kernel: Any, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed, it leaves a record that says where and who it was. A widget keeps the client that it had."""
    kernel.cell("%%ask\nsay hello")
    assert "embedded" not in kernel.shown.outputs[0]["text/plain"], "`%agentsvc` says where it is"
    session = session_of(kernel)
    client, before = session.client(), embedded.status(data)
    assert before is not None
    kernel.cell("%agentsvc")
    assert f"at {before.base_url} " in capsys.readouterr().out
    os.kill(before.pid, signal.SIGKILL)
    until(lambda: not embedded.is_held(DataFolder(data)))
    stranger = Stranger(repeats(before.instance), port_of(before.base_url))
    assert client.runs.start("say A secret question", sync=True).output == "A secret question"
    assert kernel.cell("%%ask\nsay A secret question").text.strip() == "A secret question"
    stranger.close()
    assert (stranger.visits > 0, stranger.leaks(key_of(data))) == (True, [])
    assert session.client() is client


@pytest.mark.usefixtures("connected")
def test_local_is_the_way_back_and_one_click_opens_the_chat_signed_in(
    kernel: Any, data: Path, service: RunningService
) -> None:
    """The link, which has a token, is not saved."""
    there = kernel.cell("%%ask\nsay there").chat
    kernel.cell("%agentsvc connect local")
    chat = kernel.cell("%%ask\nsay here").chat
    shown = kernel.cell("%agentsvc open", "c1")
    ready = embedded.status(data)
    assert ready is not None
    assert "token" not in str([*kernel.shown.outputs, repr(shown), shown.widget.get_state()])
    link = shown.widget.part("closed")
    assert offences(link) == []
    address = f"{ready.sign_in_url}&chat={chat}"
    assert address.replace("&", "&amp;") in link
    page = httpx.get(address, follow_redirects=True)
    assert (page.status_code, page.url.path) == (200, f"/app/chats/{chat}")
    assert httpx.get(f"{ready.sign_in_url}&chat=//evil.example").headers["location"] == "/app"
    kernel.cell(f"%agentsvc connect {service.base_url}")
    assert there == kernel.cell(f"%%ask --chat {there}\nsay there").chat
