"""The files widget, told here what a page tells it; its files are a real service's."""

from __future__ import annotations

import errno
import html
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.files.workspace import listed_and_staged
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.browser import THUMBNAILS_MAX, FileBrowser
from agentsvc_nb.notebook.widgets.outputs import WidgetWithFallback
from agentsvc_nb.notebook.widgets.uploads import TOGETHER, Uploads
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.limits import FILE_MAX_BYTES
from tests.faults.network import tcp_sockets
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.fronts import attach, file, say
from tests.notebook.images import png
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
def browse(session: Session) -> Iterator[Browse]:
    """Opens browsers, whose threads end before the session does."""
    made: list[FileBrowser] = []

    def opened(files: list[WorkspaceFile]) -> FileBrowser:
        made.append(FileBrowser(session, files))
        return made[-1]

    yield opened
    for browser in made:
        end(browser)


def end(browser: FileBrowser) -> None:
    for worker in (browser._worker, browser._thumbnails):
        worker._pool.shutdown()


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


def test_what_comes_late_moves_nobody(browser: FileBrowser) -> None:
    held, done = threading.Event(), threading.Event()
    browser._worker.do("hold", held.wait)
    say(browser.front, "open", key="a.csv")
    say(browser.front, "close")
    held.set()
    browser._worker.do("done", done.set)
    assert done.wait(60)
    assert browser.front.part("open") is None


def test_thumbnails_come_when_they_are_asked_for(
    browser: FileBrowser, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.client().files.upload(("a.png", png("navy")), ("b.png", png("red")), chat=session.address().chat)
    say(browser.front, "refresh")
    until(lambda: "uploads/a.png" in paths(browser))
    assert browser.front.parts("thumb/") == {}
    say(browser.front, "thumbs", keys=["uploads/a.png", "no such", 7])
    uri, alt = until(lambda: browser.front.part("thumb/uploads/a.png"))
    assert (uri[:16], alt) == ("data:image/webp;", "a.png")
    monkeypatch.setattr("agentsvc_nb.notebook.widgets.browser.THUMBNAILS_MAX", 0)
    say(browser.front, "thumbs", keys=["uploads/b.png"])
    until(lambda: [*browser.front.parts("thumb/")] == ["thumb/uploads/b.png"])
    [(large, _)] = opened(browser, "uploads/a.png")["images"]
    assert large.startswith("data:image/webp;")
    session.client().files.upload(("b.png", png("green")), chat=session.address().chat)
    say(browser.front, "refresh")
    until(lambda: browser.front.parts("thumb/") == {})
    assert THUMBNAILS_MAX > 200, "more than a page shows at once"


def test_uploads_come_into_the_chat_and_refresh_lists_them(
    browser: FileBrowser, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[int] = []
    changed = browser.front.change

    def noted(parts: Mapping[str, Any]) -> None:
        shown.extend(value["at"] for name, value in parts.items() if name.startswith("upload/") and value)
        changed(parts)

    monkeypatch.setattr(browser.front, "change", noted)
    attach(browser.front, "../<img src=x onerror=alert(1)>.csv", b"a,b\n1,2\n", slice_bytes=3)
    says(browser, "1 sent")
    assert shown == [0, 3, 6, 8]
    assert browser.front.parts("upload/") == {}
    assert any(path.startswith("uploads/") for path in paths(browser))
    attach(browser.front, "empty.txt", b"")
    says(browser, "1 sent: empty.txt")
    session.client().runs.start("write new.md hi", chat=session.address().chat, sync=True)
    say(browser.front, "refresh")
    until(lambda: "new.md" in paths(browser))


def test_an_upload_that_cannot_be_is_a_sentence_and_leaves_nothing(browser: FileBrowser) -> None:
    attach(browser.front, "x" * 300, b"content")
    assert went_wrong(browser, "under this name: File name too long. Rename it.")
    attach(browser.front, "\0", b"content")
    assert went_wrong(browser, "it is not a valid name of a file")
    attach(browser.front, "large.bin", b"", size=FILE_MAX_BYTES + 1)
    assert went_wrong(browser, "large.bin is larger than 100 MB and was not sent. Query it in the notebook")
    say(browser.front, "toolarge", name=HOSTILE[0])
    assert went_wrong(browser, "is larger than 100 MB")
    say(browser.front, "unreadable", name="folder")
    assert went_wrong(browser, "folder can't be read. Drop the files of a folder")
    for number in range(TOGETHER + 1):
        say(browser.front, "file", b"x", id=str(number), name=f"{number}.txt", size=2, at=0)
    assert went_wrong(browser, "Cancel one")
    folders = [file.path.parent for file in browser._uploads._arriving.values()]
    assert len(folders) == TOGETHER
    for number in range(TOGETHER):
        say(browser.front, "cancel", id=str(number))
    say(browser.front, "file", b"x", id="0", name="0.txt", size=2, at=1)
    assert [folder for folder in folders if folder.exists()] == []
    assert browser.front.parts("upload/") == {}
    say(browser.front, "refresh")
    until(lambda: paths(browser) == PATHS)


@pytest.mark.parametrize("name", ["", "\\", "/", ".", "..", "a/..", "..\\", None])
def test_a_name_that_is_none_is_a_file_in_a_folder_of_its_own(
    browser: FileBrowser, name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    (temporary / "of others").write_text("x")
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    say(browser.front, "file", b"x", id="1", name=name, size=1, at=0)
    says(browser, "1 sent: None" if name is None else "1 sent: file")
    assert [path.name for path in temporary.iterdir()] == ["of others"]


def test_a_disk_that_is_full_is_no_matter_of_the_name(browser: FileBrowser, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "open", full)
    attach(browser.front, "a.txt", b"content")
    assert went_wrong(browser, "a.txt can't be kept on the kernel's machine: No space left on device.")


@pytest.mark.parametrize("slices", [[b"ab", b"cdefgh"], [b"abcdefgh"], [b"", b"abcdefgh"]])
def test_more_than_was_announced_is_refused_before_it_is_written(
    browser: FileBrowser, slices: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, written = Uploads.done, list[int]()

    def done(uploads: Uploads, key: str) -> None:
        path = uploads._arriving[key].path
        written.append(path.stat().st_size if path.exists() else 0)
        kept(uploads, key)

    monkeypatch.setattr(Uploads, "done", done)
    at = 0
    for content in slices:
        say(browser.front, "file", content, id="1", name="a.txt", size=4, at=at)
        at += len(content)
    assert went_wrong(browser, "a.txt is larger than its page said, and was not sent.")
    assert written == [len(slices[0]) if len(slices) > 1 else 0]
    assert browser.front.parts("upload/") == {}
    assert browser._uploads._arriving == {}


def test_a_file_that_is_gone_is_said_and_the_rest_stays(browse: Browse) -> None:
    browser = browse([file("gone.txt"), file("other.txt")])
    say(browser.front, "open", key="gone.txt")
    assert went_wrong(browser, "file_not_found")
    assert paths(browser) == ["gone.txt", "other.txt"]


def test_without_a_connection_a_sentence_and_nothing_is_lost() -> None:
    lost = Session("plan.ipynb", environ={"SERVICE_API_KEY": "x"}, journal=Journal(None))
    lost.connect("http://127.0.0.1:9")
    browser = FileBrowser(lost.for_chat("chat_1"), [file("a.txt")])
    say(browser.front, "refresh")
    assert "%agentsvc connect" in says(browser, "http://127.0.0.1:9")
    assert paths(browser) == ["a.txt"]
    end(browser)


def test_10_000_files_are_one_part_of_a_megabyte(browse: Browse) -> None:
    before = len(ipywidgets.widgets.widget._instances)
    browser = browse([file(f"{number:05}.txt") for number in range(10_000)])
    assert len(ipywidgets.widgets.widget._instances) == before + 2, "the widget and its layout"
    assert len(json.dumps(browser.front.parts())) < 1_000_000


def test_hostile_names_are_text_wherever_they_stand(browse: Browse) -> None:
    browser = browse([file(text.replace("/", "∕")) for text in HOSTILE])
    shown = [part for row in browser.front.part("files") for part in row if isinstance(part, str)]
    assert [part for part in shown if FORBIDDEN.search(part)] == []
    for key in paths(browser):
        say(browser.front, "open", key=key)
        assert offences((browser.front.part("said") or {"html": ""})["html"]) == []
    says(browser, "file_not_found")


def test_buttons_may_be_pressed_in_many_threads(browser: FileBrowser) -> None:
    pressed: list[Callable[[], None]] = [
        lambda: say(browser.front, "open", key="a.csv"),
        lambda: say(browser.front, "close"),
        lambda: say(browser.front, "find", words="x"),
        lambda: say(browser.front, "refresh"),
    ]
    threads = [threading.Thread(target=press) for _ in range(10) for press in pressed]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths(browser) == PATHS


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


def test_where_no_widget_is_shown_it_is_the_table(terminal: Any) -> None:
    terminal.cell("%%ask\nsay x\nwrite a.txt hi")
    assert list(terminal.cell("%files browse").df["path"]) == ["a.txt"]
    assert list(terminal.cell("import agentsvc_nb\nagentsvc_nb.Files()").df["path"]) == ["a.txt"]


def test_another_chats_connection_is_closed_with_the_notebooks(session: Session) -> None:
    """One for each chat, however often it is looked through: widgets live as long as the kernel."""
    before = tcp_sockets()
    other = session.for_chat("chat_1")
    other.client().tools.list()
    assert tcp_sockets() == before + 1
    assert session.for_chat("chat_1") is other
    session.close()
    assert tcp_sockets() == before


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


def test_slices_are_bytes_in_some_hosts(browser: FileBrowser) -> None:
    browser.front._handle_custom_msg({"do": "file", "id": "1", "name": "a.txt", "size": 2, "at": 0}, [b"hi"])  # marimo
    says(browser, "1 sent: a.txt")
