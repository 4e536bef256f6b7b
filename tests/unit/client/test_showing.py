"""How results show themselves: harmless, and short."""

from __future__ import annotations

from typing import Any

import pytest

from agentsvc_nb.client import errors
from agentsvc_nb.client.events import Event, EventPage
from agentsvc_nb.client.models import Answer, FileSearch, Job, Listing, Run
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.tools import JobAccepted, ToolDescription
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.test_hostile import HOSTILE
from tests.unit.client.conftest import RUN_ID

FILE = {"id": "a" * 64, "path": "out/a.png", "file_name": "a.png", "size_bytes": 12, "kind": "output"}


def shown(value: Any) -> tuple[str, str]:
    bundle = value._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    return bundle["text/plain"], bundle["text/html"]


def everything(text: str) -> list[Any]:
    file = WorkspaceFile(id=text, path=text, file_name=text, name=text, media_type=text)
    search = {"path": text, "id": text, "match": text, "snippets": [[{"text": text, "match": True}]]}
    job = {"error": {"code": text, "message": text}, "progress": {"done": 1, "total": 2, "message": text}}
    error = errors.StefanBrainError(text, code=text, request_id=text, hint=text)
    error.path = text
    return [
        Run(run_id=text, status=text, chat=text, output=text, last_error=text, started_at=text),
        Job(job_id=text, status=text, tool=text, files=[file], **job),
        Answer(answer=text, chat=text, app_url=text, run_id=text),
        Listing([file], WorkspaceFile),
        Listing([ToolDescription(name=text, description=text)], ToolDescription),
        FileSearch(chat=text, results=[search]),
        EventPage(data=[Event(1, text, text, {text: text})]),
        Listing([JobAccepted(family=text, job_id=text, chat=text)], JobAccepted),
        error,
        errors.JobFailedError(Job(job_id=text, status=text)),
    ]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_the_service_says_is_text(text: str) -> None:
    for value in everything(text):
        plain, html = shown(value)
        assert offences(html) == []
        assert not FORBIDDEN.search(plain.replace("\n", ""))


def test_an_answer_as_a_card() -> None:
    plain, _ = shown(Answer(answer="**42**", chat="chat_1", run_id=RUN_ID, steps=1))
    assert plain == f"Answer\n  run: {RUN_ID}\n  chat: chat_1\n  steps: 1\n**42**"


def test_a_run_as_a_card() -> None:
    done = Run(run_id=RUN_ID, status="completed", chat="chat_1", output="**42** <b>", steps=3)
    plain, html = shown(done)
    assert plain == f"Run completed\n  run: {RUN_ID}\n  chat: chat_1\n  steps: 3\n**42** <b>"
    assert "<td>chat_1</td>" in html
    assert "**42** &lt;b&gt;</pre>" in html


def test_a_long_text_is_cut() -> None:
    plain, html = shown(Run(run_id=RUN_ID, status="completed", output="x" * 9_000))
    assert plain.endswith("(9,000 characters)")
    assert max(len(plain), len(html)) < 2_500


def test_a_table_shows_its_first_rows_and_how_many_there_are() -> None:
    plain, html = shown(Listing([WorkspaceFile(**FILE | {"path": f"f{n}"}) for n in range(1_234)], WorkspaceFile))
    assert plain.startswith("Files (1,234)\n  path  name  kind")
    assert plain.endswith("f19         output              12\n… 1,214 more")
    assert (html.count("<tr>"), html.count("f19"), html.count("f20")) == (21, 1, 0)


def test_an_empty_table() -> None:
    plain, html = shown(Listing([], WorkspaceFile))
    assert plain == "Files (0)"
    assert (html.count("Files (0)"), html.count("<table")) == (1, 0)


def test_an_error_as_a_card() -> None:
    error = errors.refused("message_required")
    plain, html = shown(error)
    assert plain.startswith("StefanBrainError\n  code: message_required\n  to do: ")
    assert "<td>message_required</td>" in html
