"""The file browser, pressed and read here as in a page; its files are a real service's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.browser import ROWS, Browser
from agentsvc_nb.notebook.widgets.outputs import WidgetWithFallback
from agentsvc_nb.wire.files import WorkspaceFile
from tests.faults.network import tcp_sockets
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.test_folders import file
from tests.notebook.test_hostile import HOSTILE
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("connected")

SCRIPT = "write out/plan.md # Autumn\nwrite reports/q3.md The return on ad spend rose\nwrite a.csv x,y"
Browse = Callable[[list[WorkspaceFile]], Browser]
OURS = {"<div class>", "<div tabindex>"}
"""Attributes of our own making, which static outputs do without."""


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


def lines(browser: Browser) -> list[str]:
    return [said.split("  ")[0] for said, _ in browser.parts.list.options]


def choose(browser: Browser, line: str) -> None:
    browser.parts.list.index = lines(browser).index(line)


def says(browser: Browser, words: str) -> str:
    """The status, once it holds the words."""
    return until(lambda: str(browser.parts.status.value), lambda said: words in said)


def test_files_are_looked_at_got_and_named(browser: Browser, tmp_path: Path) -> None:
    parts = browser.parts
    assert lines(browser) == ["out/", "reports/", "a.csv"]
    parts.get.click()
    assert "Choose a file" in parts.status.value
    parts.later.click()
    assert "out/" in parts.pane.value
    parts.open.click()
    assert (lines(browser), parts.list.description) == (["plan.md"], "Files below out/")
    parts.later.click()
    says(browser, "out/plan.md, 8 B")
    assert "<h1>Autumn</h1>" in parts.pane.value
    parts.later.click()
    assert "no line there" in parts.status.value
    parts.get.click()
    says(browser, "It is in plan.md")
    assert (tmp_path / "plan.md").read_text() == "# Autumn"
    parts.attach.click()
    assert parts.copied.value == "out/plan.md"
    parts.up.click()
    assert lines(browser) == ["out/", "reports/", "a.csv"]


def test_nothing_of_the_users_is_replaced(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("mine")
    choose(browser, "a.csv")
    browser.parts.get.click()
    assert "asvc-wrong" in says(browser, "there already with other content; nothing was replaced")
    assert (tmp_path / "a.csv").read_text() == "mine"


def test_typing_narrows_and_search_reads_contents(browser: Browser) -> None:
    parts = browser.parts
    parts.filter.value = "PLAN"
    assert lines(browser) == ["out/plan.md"]
    parts.filter.value = "no such"
    assert lines(browser) == []
    assert "No file below here" in parts.status.value
    parts.filter.value = ""

    def found() -> bool:
        parts.search.click()
        return "1 file found" in until(lambda: parts.status.value, lambda said: "Searching" not in said)

    parts.words.value = "return spend"
    until(found)  # what was written is found by its words a moment later
    assert lines(browser) == ["reports/q3.md"]
    assert "<mark>return</mark>" in parts.pane.value
    parts.words.value = "x" * 2_000
    assert "asvc-wrong" in says(browser, "invalid_query")
    parts.words.value = ""
    assert lines(browser) == ["out/", "reports/", "a.csv"]


def test_uploads_come_into_the_chat_and_refresh_lists_them(browser: Browser, session: Session) -> None:
    content = b"a,b\n1,2\n"
    one = {"name": "../<img src=x onerror=alert(1)>.csv", "size": len(content), "content": memoryview(content)}
    browser.parts.upload.value = ({**one, "type": "text/csv", "last_modified": datetime.now(UTC)},)
    says(browser, "1 sent")
    assert "uploads/" in lines(browser)
    browser.parts.upload.value = ({**one, "size": 10_000_001, "type": "", "last_modified": datetime.now(UTC)},)
    says(browser, "More than 10 MB")
    browser.parts.upload.value = ({**one, "name": "x" * 300, "type": "", "last_modified": datetime.now(UTC)},)
    says(browser, "under this name: File name too long. Rename it.")
    session.client().runs.start("write new.md hi", chat=session.address().chat, sync=True)
    browser.parts.refresh.click()
    until(lambda: "new.md" in lines(browser))


def test_a_file_that_is_gone_is_said_and_the_rest_stays(browse: Browse) -> None:
    browser = browse([file("gone.txt"), file("other.txt")])
    choose(browser, "gone.txt")
    assert "asvc-wrong" in says(browser, "file_not_found")
    assert lines(browser) == ["gone.txt", "other.txt"]


def test_without_a_connection_a_sentence_and_nothing_is_lost() -> None:
    lost = Session("plan.ipynb", environ={"SERVICE_API_KEY": "x"}, journal=Journal(None))
    lost.connect("http://127.0.0.1:9")
    browser = Browser(lost.for_chat("chat_1"), [file("a.txt")], own=False)
    browser.parts.refresh.click()
    assert "%agentsvc connect" in says(browser, "http://127.0.0.1:9")
    assert lines(browser) == ["a.txt"]


def test_10_000_files_are_200_lines_at_a_time(browse: Browse) -> None:
    browser = browse([file(f"{number:05}.txt") for number in range(10_000)])
    parts = browser.parts
    before = len(ipywidgets.widgets.widget._instances)
    assert len(lines(browser)) == ROWS == 200
    assert "1 to 200 of 10,000 lines" in parts.status.value
    parts.after.click()
    assert lines(browser)[0] == "00200.txt"
    parts.before.click()
    parts.before.click()
    assert "the first lines" in parts.status.value
    parts.filter.value = "9999"
    assert (lines(browser), parts.paging.layout.display) == (["09999.txt"], "none")
    assert len(ipywidgets.widgets.widget._instances) == before, "no widgets come with files"


def test_hostile_names_are_text_wherever_they_stand(browse: Browse) -> None:
    browser = browse([file(text.replace("/", "∕")) for text in HOSTILE])
    for index in range(len(HOSTILE)):
        browser.parts.list.index = index
        browser.parts.attach.click()
        for part in (browser.parts.status, browser.parts.pane):
            assert set(offences(part.value)) <= OURS
    assert [FORBIDDEN.findall(line) for line in lines(browser)] == [[]] * len(lines(browser))
    says(browser, "file_not_found")


def test_buttons_may_be_pressed_in_many_threads(browser: Browser) -> None:
    pressed: list[Callable[[], None]] = [
        browser.parts.later.click,
        browser.parts.open.click,
        browser.parts.up.click,
        browser.parts.refresh.click,
    ]
    threads = [threading.Thread(target=press) for _ in range(10) for press in pressed]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    browser.parts.up.click()
    browser.parts.up.click()
    assert lines(browser) == ["out/", "reports/", "a.csv"]


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
