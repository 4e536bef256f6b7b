"""Results as tables with fixed columns and types, and how they show themselves: harmless, and short."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from IPython.core.formatters import DisplayFormatter

from agentsvc_nb.client import errors
from agentsvc_nb.client.events import Event, EventPage
from agentsvc_nb.client.models import Answer, FileSearch, Job, Listing, Run
from agentsvc_nb.wire.files import SearchResult, WorkspaceFile
from agentsvc_nb.wire.resources import FeedbackReport
from agentsvc_nb.wire.tools import JobAccepted, ToolDescription
from tests.unit.client.conftest import Networks, answer

FILE = {"id": "a" * 64, "path": "out/a.png", "file_name": "a.png", "size_bytes": 12, "kind": "output"}


@pytest.mark.parametrize("kind", [WorkspaceFile, SearchResult, Job, ToolDescription, FeedbackReport, Run])
def test_an_empty_table_has_the_types_of_a_full_one(kind: type) -> None:
    known = {"name": "n", "path": "p", "run_id": "r", "job_id": "j", "status": "new", "id": "f"}
    empty, full = Listing([], kind).to_frame(), Listing([kind(**known)], kind).to_frame()
    assert [str(each) for each in empty.dtypes] == [str(each) for each in full[list(empty.columns)].dtypes]
    for name, kept in {"size_bytes": "Int64", "updated_at": "datetime64[ns, UTC]", "path": "string"}.items():
        assert name not in empty or str(empty.dtypes[name]) == kept


def test_a_listing_over_its_pages(network: Networks) -> None:
    first = [FILE | {"path": "a", "updated_at": "2026-11-21T06:00:00.123Z"}, FILE | {"path": "b", "new": {"x": 1}}]
    pages = answer(200, {"files": first, "next_after": "b"}), answer(200, {"files": [FILE | {"path": "c"}]})
    table = network(*pages).client.files.list("chat_1").to_frame()
    assert list(table["path"]) == ["a", "b", "c"]
    assert list(table.columns)[-1] == "new"
    assert table["updated_at"][0] == pd.Timestamp("2026-11-21T06:00:00.123Z")
    assert table["new"][1] == {"x": 1}


def shown(value: Any) -> tuple[str, str]:
    bundle, _ = DisplayFormatter().format(value)
    return bundle["text/plain"], bundle["text/html"]


HOSTILE = "</td></pre><script>alert(1)</script><img src=x onerror=alert(1)>\x1b]0;x\x07\u202e"


@pytest.mark.rule("The client shows service data as text, never as markup.")
def test_whatever_the_service_says_is_text() -> None:
    text = HOSTILE
    file = WorkspaceFile(id=text, path=text, file_name=text, name=text, media_type=text)
    search = {"path": text, "id": text, "match": text, "snippets": [[{"text": text, "match": True}]]}
    job: Any = {"error": {"code": text, "message": text}, "progress": {"done": 1, "total": 2, "message": text}}
    error = errors.StefanBrainError(text, code=text, request_id=text, hint=text)
    error.path = text
    everything = [
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
    for value in everything:
        plain, html = shown(value)
        assert not [tag for tag in ("<script", "<img", "</td></pre>") if tag in html], html
        assert "&lt;script&gt;" in html
        assert not {"\x1b", "\x07", "\u202e"} & {*plain, *html}


def test_a_table_shows_its_first_rows_and_how_many_there_are() -> None:
    _, html = shown(Listing([WorkspaceFile(**FILE | {"path": f"f{n}"}) for n in range(1_234)], WorkspaceFile))
    assert "Files (1,234)" in html
    assert "1,214 more" in html
    assert (html.count("<tr>"), html.count("f19"), html.count("f20")) == (21, 1, 0)
    assert "<table" not in shown(Listing([], WorkspaceFile))[1]
