"""The file browser, told here what a page tells it; its files are a real service's."""

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
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.browser import Browser
from agentsvc_nb.notebook.widgets.browser_rows import ROWS
from agentsvc_nb.notebook.widgets.outputs import WidgetWithFallback
from agentsvc_nb.notebook.widgets.uploads import TOGETHER, Uploads
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.limits import FILE_MAX_BYTES
from tests.faults.network import tcp_sockets
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.fronts import attach, say
from tests.notebook.test_folders import file
from tests.notebook.test_hostile import HOSTILE
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("connected")

SCRIPT = "write out/plan.md # Autumn\nwrite reports/q3.md The return on ad spend rose\nwrite a.csv x,y"
Browse = Callable[[list[WorkspaceFile]], Browser]


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
    made: list[Browser] = []

    def opened(files: list[WorkspaceFile]) -> Browser:
        made.append(Browser(session, files))
        return made[-1]

    yield opened
    for browser in made:
        browser._worker._pool.shutdown()


@pytest.fixture
def browser(browse: Browse, session: Session) -> Browser:
    return browse(list(session.client().files.list(session.address().chat or "")))


def names(browser: Browser) -> list[str]:
    return [row[1] for row in browser.front.part("rows")["rows"]]


def does(browser: Browser, what: str, name: str = "", **content: Any) -> None:
    """What the page sends when this is pressed while the row of that name is chosen."""
    rows = browser.front.part("rows")
    at = rows["from"] + names(browser).index(name) if name else -1
    say(browser.front, what, **{"list": rows["list"], "at": at, **content})


def status(browser: Browser) -> str:
    return html.unescape(browser.front.part("said")["html"])


def says(browser: Browser, words: str) -> str:
    """The status, once it holds the words."""
    return until(lambda: status(browser), lambda said: words in said)


def went_wrong(browser: Browser, words: str) -> bool:
    says(browser, words)
    return bool(browser.front.part("said")["wrong"])


def test_files_are_looked_at_got_and_named(browser: Browser, tmp_path: Path) -> None:
    assert names(browser) == ["out", "reports", "a.csv"]
    does(browser, "get")
    assert "Choose a file" in status(browser)
    does(browser, "get", "out")
    assert "Choose a file" in status(browser)
    does(browser, "open", "out")
    assert (names(browser), browser.front.part("rows")["label"]) == (["plan.md"], "Files below out/")
    assert browser.front.part("folder") == ["out"]
    does(browser, "open", "plan.md")
    says(browser, "out/plan.md, 8 B")
    assert "<h1>Autumn</h1>" in browser.front.part("pane")["html"]
    does(browser, "get", "plan.md")
    says(browser, "It is in plan.md")
    assert (tmp_path / "plan.md").read_text() == "# Autumn"
    does(browser, "attach", "plan.md")
    assert browser.front.part("tocopy") == "out/plan.md"
    does(browser, "close")
    assert browser.front.part("pane") is None
    does(browser, "up")
    assert names(browser) == ["out", "reports", "a.csv"]
    assert browser.front.part("rows")["at"] == 0, "the folder that was left is chosen"


def test_each_column_sorts_and_sorts_the_other_way_round(browse: Browse) -> None:
    browser = browse([file("b.md", 5, 3), file("a.csv", 9, 1), file("c.txt", 7, 2)])
    assert browser.front.part("sort") == ["name", False]
    for by, first, then in (("size", "a.csv", "b.md"), ("when", "b.md", "a.csv"), ("name", "a.csv", "c.txt")):
        does(browser, "sort", by=by)
        assert names(browser)[0] == first
        does(browser, "sort", by=by)
        assert names(browser)[0] == then
    does(browser, "sort", by="__class__")
    assert browser.front.part("sort") == ["name", True]


def test_what_a_page_says_of_another_list_is_not_for_this(browser: Browser) -> None:
    does(browser, "open", "a.csv", list=0)
    does(browser, "open", "out", at="0")
    does(browser, "turn", at=10**9)
    does(browser, "go", depth=5)
    assert names(browser) == ["out", "reports", "a.csv"]
    assert browser.front.part("pane") is None


def test_nothing_of_the_users_is_replaced(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("mine")
    does(browser, "get", "a.csv")
    assert went_wrong(browser, "there already with other content; nothing was replaced")
    assert (tmp_path / "a.csv").read_text() == "mine"


def test_typing_narrows_and_search_reads_contents(browser: Browser) -> None:
    does(browser, "narrow", words="PLAN")
    assert names(browser) == ["out/plan.md"]
    does(browser, "narrow", words="no such")
    assert (names(browser), browser.front.part("rows")["empty"][:18]) == ([], "No file below here")
    does(browser, "narrow", words="")

    found(browser, "return spend", 1)
    assert names(browser) == ["reports/q3.md"]
    assert "<mark>return</mark>" in browser.front.part("pane")["html"]
    does(browser, "find", words="x" * 2_000)
    assert went_wrong(browser, "invalid_query")
    does(browser, "find", words="")
    assert names(browser) == ["out", "reports", "a.csv"]


def found(browser: Browser, words: str, count: int) -> None:
    """Search until there are so many: what was written is found by its words a moment later."""

    def searched() -> bool:
        does(browser, "find", words=words)
        return f"{count} file" in until(lambda: status(browser), lambda said: "Searching" not in said)

    until(searched)


def test_what_was_found_is_sorted_and_stays_until_somebody_goes_on(browser: Browser, session: Session) -> None:
    session.client().runs.start("write d.md it rose and rose", sync=True, chat=session.address().chat)
    found(browser, "rose", 2)
    pane = browser.front.part("pane")
    for _ in range(2):
        does(browser, "sort", by="size")
    assert names(browser) == ["d.md", "reports/q3.md"]
    does(browser, "refresh")
    says(browser, "2 files found.")
    assert (browser.front.part("find"), browser.front.part("pane")) == ("rose", pane)
    does(browser, "go", depth=0)
    assert names(browser)[:2] == ["out", "reports"]
    assert (browser.front.part("find"), browser.front.part("pane")) == (None, None)


def test_what_comes_late_moves_nobody(browser: Browser) -> None:
    found(browser, "return", 1)
    does(browser, "find", words="")
    for late in ({"what": "find", "words": "return"}, {"what": "open", "name": "a.csv"}):
        held = threading.Event()
        browser._worker.do("hold", held.wait)
        does(browser, **late)
        does(browser, "close" if late["what"] == "open" else "open", "" if late["what"] == "open" else "out")
        here = names(browser)
        held.set()
        done = threading.Event()
        browser._worker.do("done", done.set)
        assert done.wait(60)
        assert (names(browser), browser.front.part("pane")) == (here, None)
        does(browser, "up")


def test_uploads_come_into_the_chat_and_refresh_lists_them(
    browser: Browser, session: Session, monkeypatch: pytest.MonkeyPatch
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
    assert "uploads" in names(browser)
    attach(browser.front, "empty.txt", b"")
    says(browser, "1 sent: empty.txt")
    session.client().runs.start("write new.md hi", chat=session.address().chat, sync=True)
    does(browser, "refresh")
    until(lambda: "new.md" in names(browser))


def test_an_upload_that_cannot_be_is_a_sentence_and_leaves_nothing(browser: Browser) -> None:
    attach(browser.front, "x" * 300, b"content")
    assert went_wrong(browser, "under this name: File name too long. Rename it.")
    attach(browser.front, "\0", b"content")
    assert went_wrong(browser, "it is no name of a file")
    attach(browser.front, "large.bin", b"", size=FILE_MAX_BYTES + 1)
    assert went_wrong(browser, "More than 100 MB can't be sent: large.bin")
    say(browser.front, "toolarge", name=HOSTILE[0])
    assert went_wrong(browser, "More than 100 MB")
    say(browser.front, "unreadable", name="folder")
    assert went_wrong(browser, "folder can't be read")
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
    does(browser, "refresh")
    says(browser, "3 files in all")


@pytest.mark.parametrize("name", ["", "\\", "/", ".", "..", "a/..", "..\\", None])
def test_a_name_that_is_none_is_a_file_in_a_folder_of_its_own(
    browser: Browser, name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    (temporary / "of others").write_text("x")
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    say(browser.front, "file", b"x", id="1", name=name, size=1, at=0)
    says(browser, "1 sent: None" if name is None else "1 sent: file")
    assert [path.name for path in temporary.iterdir()] == ["of others"]


def test_a_disk_that_is_full_is_no_matter_of_the_name(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "open", full)
    attach(browser.front, "a.txt", b"content")
    assert went_wrong(browser, "a.txt can't be kept on the kernel's machine: No space left on device.")


@pytest.mark.parametrize("slices", [[b"ab", b"cdefgh"], [b"abcdefgh"], [b"", b"abcdefgh"]])
def test_more_than_was_announced_is_refused_before_it_is_written(
    browser: Browser, slices: list[bytes], monkeypatch: pytest.MonkeyPatch
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
    does(browser, "open", "gone.txt")
    assert went_wrong(browser, "file_not_found")
    assert names(browser) == ["gone.txt", "other.txt"]


def test_without_a_connection_a_sentence_and_nothing_is_lost() -> None:
    lost = Session("plan.ipynb", environ={"SERVICE_API_KEY": "x"}, journal=Journal(None))
    lost.connect("http://127.0.0.1:9")
    browser = Browser(lost.for_chat("chat_1"), [file("a.txt")], own=False)
    does(browser, "refresh")
    assert "%agentsvc connect" in says(browser, "http://127.0.0.1:9")
    assert names(browser) == ["a.txt"]
    browser._worker._pool.shutdown()


def test_10_000_files_are_200_rows_at_a_time(browse: Browse) -> None:
    browser = browse([file(f"{number:05}.txt") for number in range(10_000)])
    before = len(ipywidgets.widgets.widget._instances)
    assert len(names(browser)) == ROWS == 200
    assert "1 to 200 of 10,000 rows" in status(browser)
    does(browser, "turn", at=200)
    assert (names(browser)[0], browser.front.part("rows")["at"]) == ("00200.txt", 200)
    does(browser, "turn", at=9_999)
    assert (names(browser)[-1], browser.front.part("rows")["from"]) == ("09999.txt", 9_800)
    does(browser, "type", at=9_999, words="0123")
    assert (names(browser)[0], browser.front.part("rows")["at"]) == ("01200.txt", 1_230)
    does(browser, "narrow", words="9999")
    assert names(browser) == ["09999.txt"]
    assert len(ipywidgets.widgets.widget._instances) == before, "no widgets come with files"
    assert len(json.dumps(browser.front.parts())) < 100_000


def test_hostile_names_are_text_wherever_they_stand(browse: Browse) -> None:
    browser = browse([file(text.replace("/", "∕")) for text in HOSTILE])
    rows = browser.front.part("rows")
    for at in range(len(HOSTILE)):
        for what in ("open", "attach"):
            say(browser.front, what, list=rows["list"], at=at)
            assert offences(browser.front.part("said")["html"]) == []
    shown = [part for row in rows["rows"] for part in row]
    assert [part for part in shown if FORBIDDEN.search(part)] == []
    says(browser, "file_not_found")


def test_buttons_may_be_pressed_in_many_threads(browser: Browser) -> None:
    pressed: list[Callable[[], None]] = [
        lambda: say(browser.front, "open", list=browser.front.part("rows")["list"], at=0),
        lambda: does(browser, "up"),
        lambda: does(browser, "sort", by="size"),
        lambda: does(browser, "refresh"),
    ]
    threads = [threading.Thread(target=press) for _ in range(10) for press in pressed]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    does(browser, "up")
    assert sorted(names(browser)) == ["a.csv", "out", "reports"]


def test_a_cell_shows_a_line_that_stays_and_the_widget(kernel: Any) -> None:
    kernel.cell("%%ask\nsay x\nwrite a.txt hi")
    shown = kernel.cell("%files browse", cell_id="c1")
    assert isinstance(shown, WidgetWithFallback)
    first, second = kernel.shown.outputs
    assert "1 file, 2 B" in first["text/plain"]
    assert "%files browse</code> brings this back" in first["text/html"]
    assert offences(first["text/html"]) == []
    assert "application/vnd.jupyter.widget-view+json" in second
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


def test_a_notebook_without_a_chat_says_so(kernel: Any) -> None:
    shown = kernel.cell("%files browse", cell_id="c1")
    assert "0 files" in repr(shown)


def test_slices_are_bytes_in_some_hosts(browser: Browser) -> None:
    browser.front._handle_custom_msg({"do": "file", "id": "1", "name": "a.txt", "size": 2, "at": 0}, [b"hi"])  # marimo
    says(browser, "1 sent: a.txt")
