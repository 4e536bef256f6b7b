"""The files widget, told here what a page tells it; its files are a real service's."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.files.workspace import listed_and_staged
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.browser import FileBrowser
from agentsvc_nb.notebook.widgets.outputs import WidgetWithFallback
from agentsvc_nb.notebook.widgets.uploads import TOGETHER
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.limits import FILE_MAX_BYTES
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.fronts import attach, file, say
from tests.notebook.test_hostile import HOSTILE
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("connected")

SCRIPT = "write out/plan.md # Autumn\nwrite reports/q3.md The return on ad spend rose\nwrite a.csv x,y"
PATHS = ["a.csv", "out/plan.md", "reports/q3.md"]
Browse = Callable[[list[WorkspaceFile]], FileBrowser]


@pytest.fixture
def session(client: AgentService) -> Iterator[Session]:
    """Of a notebook whose chat has three files."""
    run = client.runs.start(SCRIPT, sync=True)
    made = Session("plan.ipynb", journal=Journal(None))
    made.move(run.chat or "")
    yield made
    made.close()


@pytest.fixture
def browse(session: Session) -> Browse:
    return lambda files: FileBrowser(session, files)


@pytest.fixture
def browser(browse: Browse, session: Session) -> FileBrowser:
    return browse(listed_and_staged(session)[0])


def paths(browser: FileBrowser) -> list[str]:
    return sorted(row[0] for row in browser.front.part("files"))


def status(browser: FileBrowser) -> str:
    return html.unescape((browser.front.part("said") or {"html": ""})["html"])


def says(browser: FileBrowser, words: str) -> str:
    """The status, once it holds the words."""
    return until(lambda: status(browser), lambda said: words in said)


def went_wrong(browser: FileBrowser, words: str) -> bool:
    says(browser, words)
    return bool(browser.front.part("said")["wrong"])


def opened(browser: FileBrowser, key: str, version: int = 0) -> dict[str, Any]:
    """What the page shows of a file, once the kernel has read it."""
    say(browser.front, "open", key=key, version=version)
    found: dict[str, Any] = until(
        lambda: browser.front.part("open"),
        lambda shown: bool(shown) and shown["key"] == key and version in (0, shown["version"]),
    )
    return found


def test_files_are_looked_at_and_downloaded(browser: FileBrowser, tmp_path: Path) -> None:
    assert paths(browser) == PATHS
    row = next(row for row in browser.front.part("files") if row[0] == "out/plan.md")
    assert row[2:4] == ["text/markdown", 8]
    assert row[5:] == [1, "agent", ""]
    shown = opened(browser, "out/plan.md")
    assert "<h1>Autumn</h1>" in shown["html"]
    assert (shown["name"], shown["size"], shown["by"]) == ("plan.md", 8, "agent")
    say(browser.front, "get", key="out/plan.md")
    says(browser, "It is in plan.md")
    assert (tmp_path / "plan.md").read_text() == "# Autumn"
    say(browser.front, "close")
    assert browser.front.part("open") is None
    for nothing in ("no such", None, 7):
        say(browser.front, "open", key=nothing)
        say(browser.front, "get", key=nothing)


def test_an_earlier_version_is_looked_at_and_restored(browser: FileBrowser, session: Session) -> None:
    session.client().runs.start("write a.csv new", sync=True, chat=session.address().chat)
    say(browser.front, "refresh")
    until(lambda: [row[5] for row in browser.front.part("files") if row[0] == "a.csv"] == [2])
    shown = opened(browser, "a.csv")
    assert [(each["version"], each["size"]) for each in shown["versions"]] == [(2, 3), (1, 3)]
    assert ">x</th>" in opened(browser, "a.csv", 1)["html"]
    say(browser.front, "restore", key="a.csv", version=1)
    says(browser, "a.csv: version 1 is back, as version 3.")
    until(lambda: browser.front.part("open")["version"] == 3)


def test_nothing_of_the_users_is_replaced(browser: FileBrowser, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("mine")
    say(browser.front, "get", key="a.csv")
    assert went_wrong(browser, "there already with other content; nothing was replaced")
    assert (tmp_path / "a.csv").read_text() == "mine"


def test_contents_are_searched(browser: FileBrowser) -> None:
    def found() -> bool:  # what was written is found by its words a moment later
        say(browser.front, "find", words="return spend")
        return bool(until(lambda: browser.front.part("found"))["hits"])

    until(found)
    assert browser.front.part("found")["words"] == "return spend"
    passage = browser.front.part("found")["hits"]["reports/q3.md"]
    assert [text for text, match in passage if match] == ["return", "spend"]
    assert "".join(text for text, _ in passage) == "The return on ad spend rose"
    say(browser.front, "find", words="")
    assert browser.front.part("found") is None
    say(browser.front, "find", words="x" * 2_000)
    assert went_wrong(browser, "invalid_query")


def test_uploads_come_into_the_chat(browser: FileBrowser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    attach(browser.front, "../<img src=x onerror=alert(1)>.csv", b"a,b\n1,2\n", slice_bytes=3)
    says(browser, "1 sent")
    attach(browser.front, "..", b"x")
    says(browser, "1 sent: file")
    assert len([path for path in paths(browser) if path.startswith("uploads/")]) == 2
    assert browser.front.parts("upload/") == {}
    assert [*temporary.iterdir()] == []


def test_an_upload_that_cannot_be_is_a_sentence_and_leaves_nothing(
    browser: FileBrowser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    attach(browser.front, "x" * 300, b"content")
    assert went_wrong(browser, "under this name")
    attach(browser.front, "large.bin", b"", size=FILE_MAX_BYTES + 1)
    assert went_wrong(browser, "large.bin is larger than 100 MB and was not sent")
    say(browser.front, "file", b"abcdefgh", id="more", name="more.txt", size=4, at=0)
    assert went_wrong(browser, "more.txt is larger than its page said")
    for number in range(TOGETHER + 1):
        say(browser.front, "file", b"x", id=str(number), name=f"{number}.txt", size=2, at=0)
    assert went_wrong(browser, "Cancel one")
    for number in range(TOGETHER):
        say(browser.front, "cancel", id=str(number))
    say(browser.front, "file", b"x", id="0", name="0.txt", size=2, at=1)
    assert [*temporary.iterdir()] == []
    assert browser.front.parts("upload/") == {}
    say(browser.front, "refresh")
    until(lambda: paths(browser) == PATHS)


def test_a_file_that_is_gone_is_said_and_the_rest_stays(browse: Browse) -> None:
    browser = browse([file("gone.txt"), file("other.txt")])
    say(browser.front, "open", key="gone.txt")
    assert went_wrong(browser, "file_not_found")
    assert paths(browser) == ["gone.txt", "other.txt"]


def test_hostile_names_are_text_wherever_they_stand(browse: Browse) -> None:
    browser = browse([file(text.replace("/", "∕")) for text in HOSTILE])
    shown = [part for row in browser.front.part("files") for part in row if isinstance(part, str)]
    assert [part for part in shown if FORBIDDEN.search(part)] == []
    for key in paths(browser):
        say(browser.front, "open", key=key)
        assert offences((browser.front.part("said") or {"html": ""})["html"]) == []
    says(browser, "file_not_found")


def test_a_cell_shows_a_line_that_stays_and_the_widget(kernel: Any) -> None:
    kernel.cell("%%ask\nsay x\nwrite a.txt hi")
    shown = kernel.cell("%files browse", cell_id="c1")
    assert isinstance(shown, WidgetWithFallback)
    first, second = kernel.shown.outputs
    assert "1 file, 2 B." in first["text/plain"]
    assert "%files browse</code> brings this back" in first["text/html"]
    assert offences(first["text/html"]) == []
    assert "application/vnd.jupyter.widget-view+json" in second
    assert second["text/plain"] == "", "an export shows it below the line, which would be there twice"
    chat = kernel.cell("%%ask\nsay x").run.chat
    other = kernel.cell(f"import agentsvc_nb\nagentsvc_nb.Files({chat!r})", cell_id="c2")
    assert f"agentsvc_nb.Files('{chat}')" in repr(other)


def test_it_shows_what_the_table_shows_also_before_the_first_question(kernel: Any, tmp_path: Path) -> None:
    assert "0 files" in repr(kernel.cell("%files browse", cell_id="c1"))
    (tmp_path / "mine.csv").write_text("a\n")
    kernel.cell("%files put mine.csv")
    shown = kernel.cell("%files browse", cell_id="c2")
    assert "The files of this notebook's chat: 1 file, 2 B." in repr(shown)
    assert "uploads/mine.csv" in repr(shown)
    front = shown.widget
    [row] = front.part("files")
    assert (row[0], row[6], row[7]) == ("uploads/mine.csv", "you", "goes along with the next question")
    say(front, "open", key="uploads/mine.csv")
    assert "can be shown afterwards" in until(lambda: front.part("open"))["html"]
