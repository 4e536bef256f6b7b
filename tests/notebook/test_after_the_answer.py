"""What stands around an answer: what the run did, and where its passages come from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.notebook.display.markdown import to_html
from agentsvc_nb.notebook.display.sources import sources_html
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.runs import AnswerBasis
from tests.notebook.allowlist import offences
from tests.support.numbers import basis, script

CHAT = "https://agents.example/app/chats/chat_1"


@pytest.mark.usefixtures("connected")
def test_steps_and_tool_calls_are_a_folded_timeline(kernel: Any) -> None:
    lost = 'call no_such_tool {"x": "<b>"}'
    kernel.cell(f'%%ask\nsay a\nstep 1\n{lost}\nrewind\nwait 0.2\ncall no_such_tool {{"x": 2}}\nsay b')
    html = kernel.shown.outputs[0]["text/html"]
    (folded,) = re.findall(r"<summary[^>]*>2 steps, (\d) tool calls? \(\1 failed\)</summary>.*?</details>", html)
    rows = re.findall(r'<li class="asvc-\w+">(.*?)</li>', html)
    assert int(folded) == sum("no_such_tool" in row for row in rows) >= 1
    assert all(re.match(r'<span style="[^"]+">\+\d+\.\d s</span> ', row) for row in rows)
    assert offences(html) == []


@pytest.mark.usefixtures("connected")
def test_a_saved_answer_has_the_sources_of_its_numbers(kernel: Any) -> None:
    """Without a script or style sheet: underlined, with the source as tooltip, and in a list that one line unfolds."""
    kernel.cell(f"%%ask\n{script()}")
    (shown,) = kernel.shown.outputs
    marks = re.findall(
        r'<span style="text-decoration:underline ([^;"]+)[^>]*title="([^"]+)">([^<]+)</span>', shown["text/html"]
    )
    assert [number for _, _, number in marks] == [number.text for number in basis().numbers]
    assert marks[8] == ("1px", "From by_channel: Search, roas = 1.2", "1.2"), "in a table"
    line, words, number = marks[-1]
    assert (line, "Not found" in words, number) == ("dotted 2px #767676", True, "€5")
    (listed,) = re.findall(
        r"<summary[^>]*>11 of 12 numbers traced, 1 not found.</summary>(.*?)</details>", shown["text/html"]
    )
    assert listed.count("<li>") == 11, "the same number with the same source once"
    assert "The &lt;b&gt;fee&lt;/b&gt; is 12 %." in listed
    assert "11 of 12 numbers traced, 1 not found: €5." in shown["text/plain"]
    assert offences(shown["text/html"]) == []


@pytest.mark.usefixtures("connected")
def test_an_answer_as_data_keeps_the_line_without_marks(kernel: Any) -> None:
    said = AnswerBasis(basis="written", number_counts={"traced": 2})
    kernel.cell(f'%%ask\nsay {{"total": 12}}\nbasis {said.model_dump_json()}')
    html = kernel.shown.outputs[0]["text/html"]
    assert "2 of 2 numbers traced." in html
    assert "asvc-number" not in html


def test_each_quoted_passage_is_linked_to_its_file_and_place(
    kernel: Any, offline_service: RunningService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", offline_service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", offline_service.base_url)
    (tmp_path / "my brief.md").write_text("# Audience\n\nYoung families in Köln who cycle to work every day.\n")
    answer = kernel.cell("%%ask --file 'my brief.md'\nWho is the audience in Köln?")
    html, text = (kernel.shown.outputs[0][kind] for kind in ("text/html", "text/plain"))
    (folded,) = re.findall(r"(?s)<summary[^>]*>1 source</summary>(.*)</details>", html)
    assert "<mark>Young families" in folded
    assert answer.run_id not in text
    assert answer.run_id in re.findall(r"<details><summary.*?</summary>(.*?)</details>", html)[0]
    (href, path) = re.findall(r'<a [^>]*href="([^"]+)"[^>]*><code>([^<]+)</code></a>, line', html)[0]
    assert path == "uploads/my brief.md"
    chat = answer.run.app_url.partition("?")[0]
    assert re.fullmatch(re.escape(f"{chat}/text?path=uploads/my%20brief.md#line=") + r"\d+", href)
    assert offences(html) == []


def test_a_path_cannot_leave_the_link_and_other_code_is_no_link() -> None:
    html = to_html('> q\n\n— `"><script>.md&path=x#y`, row 3', CHAT)
    assert f'href="{CHAT}/text?path=%22%3E%3Cscript%3E.md%26path%3Dx%23y#row=3"' in html
    assert "href" not in to_html("> q\n\n— `a.md`, row 3", "javascript:alert(1)//")
    for text in ("`a.md`, line 1", "— `a.md`, and so on", "— [`a.md`](javascript:x), line 1"):
        assert "href" not in to_html(text, CHAT)


BRIEF = "# Brief\n\nOne\nTwo\nReturns within 30 days.\nFive\nSix\nSeven\nEight"


def _read(path: str) -> bytes | None:
    return BRIEF.encode() if path == "uploads/brief.md" else None


def test_a_passage_is_shown_with_the_lines_around_it() -> None:
    (html,) = sources_html("> Returns\n\n— `uploads/brief.md`, line 5, under “Brief”", _read)
    assert "<mark>Returns within 30 days.</mark>" in html
    assert "One" in html
    assert "Seven" in html
    assert "# Brief" not in html
    assert offences(html) == []
