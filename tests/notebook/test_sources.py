"""The passages that an answer quotes unfold below it, and one click leads to the chat's page, signed in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsvc_nb import embedded
from agentsvc_nb.notebook.display.sources import sources_html
from tests.notebook.allowlist import offences

BRIEF = "# Brief\n\nOne\nTwo\nReturns within 30 days.\nFive\nSix\nSeven\nEight"


def _read(path: str) -> bytes | None:
    return BRIEF.encode() if path == "uploads/brief.md" else None


def test_a_passage_is_shown_with_the_lines_around_it() -> None:
    html = sources_html("> Returns\n\n— `uploads/brief.md`, line 5, under “Brief”", _read)
    assert "1 source<" in html
    assert "<mark>Returns within 30 days.</mark>" in html
    assert "One" in html
    assert "Seven" in html
    assert "# Brief" not in html
    assert offences(html) == []


@pytest.mark.parametrize(
    "answer",
    ["", "— `uploads/gone.md`, line 1", "— `uploads/brief.md`, line 99", "— `uploads/brief.md`, line 0", "`a`, line 1"],
)
def test_without_a_passage_there_is_nothing(answer: str) -> None:
    assert sources_html(answer, _read) == ""


@pytest.mark.usefixtures("connected")
def test_an_answer_unfolds_what_it_quotes(kernel: Any, tmp_path: Path) -> None:
    (tmp_path / "brief.md").write_text(BRIEF)
    answer = kernel.cell("%%ask --file brief.md\nsay > Returns\nsay\nsay — `uploads/brief.md`, line 5")
    (output,) = kernel.shown.outputs
    assert "<mark>Returns within 30 days.</mark>" in output["text/html"]
    kernel.cell(f"%runs show {answer.run_id}")
    assert "<mark>Returns within 30 days.</mark>" in kernel.shown.outputs[0]["text/html"]


def test_one_click_opens_the_chat_signed_in_and_the_link_is_not_saved(
    kernel: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTSVC_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("AGENTSVC_MODEL", "scripted")
    try:
        chat = kernel.cell("%%ask\nsay hello").chat
        shown = kernel.cell("%agentsvc open", "c1")
        ready = embedded.status(tmp_path / "data")
        assert ready is not None
        assert "token" not in str([*kernel.shown.outputs, repr(shown)])
        assert "token" not in str(shown.widget.get_state())
        link = shown.widget.part("closed")
        assert offences(link) == []
        address = f"{ready.sign_in_url}&chat={chat}"
        assert address.replace("&", "&amp;") in link
        with httpx.Client(follow_redirects=True) as browser:
            page = browser.get(address)
        assert (page.status_code, page.url.path) == (200, f"/app/chats/{chat}")
        assert httpx.get(f"{ready.sign_in_url}&chat=//evil.example").headers["location"] == "/app"
        kernel.cell("%agentsvc open -o said")
        assert "token" not in kernel.user_ns["said"]
        assert f"/app/chats/{chat}" in kernel.user_ns["said"]
    finally:
        embedded.stop(tmp_path / "data")
