"""Whatever a tool, a file, a passage, a CSV cell or a reply says: tables of allow-listed HTML and harmless text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentsvc_nb.notebook.ask.history import runs
from agentsvc_nb.notebook.connection import feedback_bundle, status
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.results import Cell, code, grid
from agentsvc_nb.notebook.files.gallery import Pictures, gallery_bundle
from agentsvc_nb.notebook.files.workspace import search_bundle
from agentsvc_nb.notebook.jobs.output import job_bundle, jobs_bundle, result_bundle
from agentsvc_nb.notebook.jobs.tools import tool_bundle, tools_bundle
from agentsvc_nb.notebook.state.journal import Journal, JournalEntry, now
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.wire.files import FileSearch, SearchResult, SnippetPart, WorkspaceFile
from agentsvc_nb.wire.resources import FeedbackReport
from agentsvc_nb.wire.tools import Job, Progress, ToolDescription, ToolError, ToolResult
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.images import png
from tests.notebook.test_hostile import HOSTILE


def _tool(text: str) -> ToolDescription:
    field = {"type": text, "description": text, "enum": [text], "default": text}
    nested = {"properties": {text: field}, "required": [text]}
    schema = {"properties": {text: field, "a": nested, "b": {"$ref": text}, "c": text}, "required": [text]}
    return ToolDescription(name=text, description=text, family=text, input_schema=schema)


def _result(text: str) -> Bundle:
    blocks = [{"type": kind, "text": text, "path": text, "json": {text: [text]}} for kind in ("text", "image", "json")]
    error = ToolError(code=text, message=text)
    result = ToolResult(tool=text, is_error=True, error=error, content=[*blocks, {text: text}, {"type": text}])
    return result_bundle(result, (text,), {})


def _data(text: str) -> Bundle:
    return result_bundle(ToolResult(tool=text, data={text: [text, {"a": text}]}))


def _search(text: str) -> Bundle:
    parts = [SnippetPart(text=text, match=match) for match in (True, False, True)]
    found = SearchResult(id=text, path=text, file_name=text, name=text, match=text, snippets=[parts, parts])
    return search_bundle(FileSearch(results=[found]), text)


def _file(text: str, suffix: str = "") -> WorkspaceFile:
    return WorkspaceFile(id=text, path=text + suffix, file_name=text, name=text, media_type=text, size_bytes=3)


def _picture(text: str) -> WorkspaceFile:
    return _file(text).model_copy(update={"media_type": "image/png"})


def _inscribed(text: str) -> bytes:
    return png(words={"headline": text, "brand": [text]}, edited_from={"path": text, "sha256": text})


def _bars(text: str) -> Bundle:
    job = Job(job_id=text, tool=text, status=text, progress=Progress(done=1, total=2, message=text))
    return jobs_bundle([job_bundle(job, 1.0)] * 30)


def _report(text: str) -> FeedbackReport:
    return FeedbackReport(
        id=text, status=text, reply=text, summary=text, category=text, impact=text, endpoint=text, created_at=text
    )


def _session(text: str) -> Session:
    session = Session("x.ipynb", environ={}, journal=Journal(None))
    stored = text.encode("utf-8", "replace").decode()
    entry = JournalEntry(
        "k", "", "x.ipynb", "elsewhere", stored, prompt=stored, chat=stored, status=stored, created_at=now()
    )
    session.journal.start(entry)
    return session


def _runs(text: str) -> Bundle:
    session = _session(text)
    session.journal.do("UPDATE runs SET run_id = ?, started_at = ?, model = ?", [text.encode("utf-8", "replace")] * 3)
    return runs(_session(text))._repr_mimebundle_()


def _status(text: str) -> Bundle:
    session = Session("x.ipynb", environ={}, journal=Journal(None))
    session.note(text)
    stored = text.encode("utf-8", "replace").decode()
    session.turn_to(stored)
    said = status(session)
    assert FORBIDDEN.findall(said) == []
    return grid(said, [text, "", ""], [[text, Cell(text, title=text), code(text)]], [text])


PLACES: dict[str, Callable[[str], Bundle]] = {
    "catalog": lambda text: tools_bundle([_tool(text)]),
    "a tool": lambda text: tool_bundle(_tool(text)),
    "a tool without magics": lambda text: tool_bundle(_tool(text), {text: text}, magics=False),
    "tool result": _result,
    "tool data": _data,
    "snippets": _search,
    "gallery": lambda text: gallery_bundle(Pictures(lambda file: _inscribed(text)), [_picture(text)], {}),
    "bars": _bars,
    "feedback": lambda text: feedback_bundle([_report(text)]),
    "the journal": _runs,
    "status": _status,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:40])
def test_html_is_allow_listed_and_text_is_harmless(place: str, text: str) -> None:
    bundle: dict[str, Any] = PLACES[place](text)
    assert set(bundle) == {"text/plain", "text/html"}
    assert offences(bundle["text/html"]) == []
    assert FORBIDDEN.findall(bundle["text/plain"]) == []
