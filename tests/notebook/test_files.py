"""`%files`, `%search` and the files widget; against a real service."""

from __future__ import annotations

import html
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.workspace import list_with_staged
from agentsvc_nb.notebook.previews.preview import HEAD_BYTES
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.browser import FileBrowser
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import open_database
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.limits import FILE_MAX_BYTES
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.fronts import attach, say
from tests.notebook.shells import bundle_of
from tests.notebook.test_hostile import HOSTILE
from tests.notebook.test_pictures import png
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("connected")


def _shown(value: Any) -> tuple[str, str]:
    bundle = bundle_of(value)
    assert offences(bundle["text/html"]) == []
    return bundle["text/plain"], bundle["text/html"]


def test_the_table_says_who_made_each_file(terminal: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    terminal.cell("%%ask --file mine.csv\nsay x\nwrite out/plan.md # Plan")
    (tmp_path / "later.csv").write_text("a\n")
    terminal.cell("%files put later.csv")
    text, html = _shown(terminal.cell("%files -o table"))
    assert [line.split()[-5] for line in text.splitlines()[2:5]] == ["agent", "you", "you"], text
    assert "3 files" in text
    assert "out/</span>plan.md" in html
    assert set(terminal.user_ns["table"]["kind"]) == {"upload", "output"}


def test_a_file_that_a_run_replaced_is_restored(terminal: Any) -> None:
    Path("prices.csv").write_text("mine")
    terminal.cell("%%ask --file prices.csv\nsay x")
    answer = terminal.cell("%%ask\nwrite uploads/prices.csv ruined")
    assert "uploads/prices.csv  (6 B, version 2)" in answer.shown["text/plain"]
    assert [*terminal.cell("%files versions prices.csv")["version"]] == [2, 1]
    terminal.cell("%files restore prices.csv")
    terminal.cell("%files get prices.csv --to got")
    assert Path("got/prices.csv").read_text() == "mine"
    with pytest.raises(AskError, match="no version 9"):
        terminal.cell("%files restore prices.csv 9")


def test_a_file_that_an_undo_removed_is_found_by_its_path_and_restored(terminal: Any) -> None:
    terminal.cell("%%ask\nwrite out/plan.md # Plan")
    terminal.cell("%runs undo last")
    found = terminal.cell("%files versions out/plan.md")
    assert ([*found["version"]], "this file was removed" in _shown(found)[0]) == ([1], True)
    terminal.cell("%files restore out/plan.md")
    assert "removed" not in _shown(terminal.cell("%files versions out/plan.md"))[0]
    with pytest.raises(AskError, match=r"out/nothing\.md does not exist"):
        terminal.cell("%files versions out/nothing.md")


def test_a_glob_gets_the_files_that_fit(terminal: Any) -> None:
    terminal.cell("%%ask\nwrite out/a.txt A\nwrite out/b.txt B\nwrite [c].md C")
    assert terminal.cell("%files get out/*.txt out/a.txt [c].md --to got") == ["got/a.txt", "got/b.txt", "got/[c].md"]
    with pytest.raises(AskError, match=r"matches \*\.png"):
        terminal.cell("%files get *.png")


def test_a_file_is_looked_at_from_its_beginning(terminal: Any, client: AgentService, service: RunningService) -> None:
    """Two gigabytes of which next to nothing is on the disk, and of which little is fetched."""
    answer = terminal.cell("%%ask\nwrite out/prices.csv n,word,2gb\nwrite out/page.html <script>alert(1)</script>")
    assert "&lt;script&gt;" in _shown(terminal.cell("%files preview out/page.html"))[1]
    _, prices = client.files.list(answer.run.chat)
    place = DataFolder(service.data).blobs / prices.id[:2] / prices.id[2:4] / prices.id
    session = Session(journal=Journal(None))
    session.switch_chat(answer.run.chat)
    with place.open("r+b") as blob:
        blob.seek(0, 2)
        blob.writelines(b"\n%d,lamp,x" % n for n in range(100))
        blob.truncate(2_000_000_000)
    with open_database(service.folder) as database:
        database.write_now(lambda tx: tx.run("UPDATE file SET size_bytes = 2000000000 WHERE path = 'out/prices.csv'"))
    huge = prices.model_copy(update={"size_bytes": 2_000_000_000})
    tracemalloc.start()
    try:
        shown = commands.files_preview(session, huge)
        assert tracemalloc.get_traced_memory()[1] < 40 * HEAD_BYTES
    finally:
        tracemalloc.stop()
        place.unlink()
    text, html = _shown(shown)
    assert "the first 20 rows of a file of 2.0 GB" in text
    assert ">lamp</td>" in html


def test_pictures_are_shown_small_beside_each_other(terminal: Any, tmp_path: Path) -> None:
    terminal.cell("%%ask\nsay x\nwrite fake.png <script>")
    for name in ("red.png", "blue.png"):
        (tmp_path / name).write_bytes(png(size=(800, 400)))
    terminal.cell("%files put red.png blue.png")
    text, html = _shown(terminal.cell("%files gallery"))
    assert html.count("data:image/webp;base64,") == 2
    assert "3 pictures" in text
    assert "1 not shown" in text


def test_search_marks_the_words_and_takes_them_as_they_stand(terminal: Any) -> None:
    terminal.cell("%%ask\nwrite out/plan.md The return on ad spend rose\nwrite out/other.md return spend on ad")
    until(lambda: len(terminal.cell('%search "return on ad spend"')) == 1)
    found = terminal.cell('%search -o hits "return on ad spend" -winter')
    text, html = _shown(found)
    assert "out/plan.md" in text
    assert "The <mark>return" in html
    assert terminal.user_ns["hits"]["path"][0] == "out/plan.md"


def test_a_folder_is_put_with_all_below_it_also_before_the_first_question(terminal: Any, tmp_path: Path) -> None:
    (folder := tmp_path / "many" / "deep").mkdir(parents=True)
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"{number}")
    (tmp_path / "many" / ".hidden").write_text("x")
    terminal.cell(f"%files put {tmp_path / 'many'} -o said")
    assert terminal.user_ns["said"].startswith("3 sent")
    assert len(terminal.cell("%files")) == 3
    terminal.cell("%%ask\nsay x")
    assert len(terminal.cell("%files")) == 3
    terminal.cell(f"%files put {tmp_path / 'many'} -o said")
    assert terminal.user_ns["said"].startswith("0 sent, 3 unchanged")


def test_two_files_of_one_name_are_not_put_over_each_other(terminal: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.md").write_text(name)
    with pytest.raises(AskError, match="nothing was sent"):
        terminal.cell(f"%files put {tmp_path}")


SCRIPT = "write out/plan.md # Autumn\nwrite reports/q3.md The return on ad spend rose\nwrite a.csv x,y"
PATHS = ["a.csv", "out/plan.md", "reports/q3.md"]


@pytest.fixture
def session(client: AgentService) -> Iterator[Session]:
    """Of a notebook whose chat has three files."""
    run = client.runs.start(SCRIPT, sync=True)
    made = Session("plan.ipynb", journal=Journal(None))
    made.switch_chat(run.chat or "")
    yield made
    made.close()


@pytest.fixture
def browser(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileBrowser:
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return FileBrowser(session, list_with_staged(session)[0])


def paths(browser: FileBrowser) -> list[str]:
    return sorted(row[0] for row in browser.front.part("files"))


def says(browser: FileBrowser, words: str, wrong: bool = False) -> None:
    """Wait for these words in the status."""
    said = until(lambda: browser.front.part("said"), lambda said: bool(said) and words in html.unescape(said["html"]))
    assert bool(said["wrong"]) == wrong


def test_uploads_come_into_the_chat_or_leave_nothing(browser: FileBrowser, tmp_path: Path) -> None:
    attach(browser.front, "../<img src=x onerror=alert(1)>.csv", b"a,b\n1,2\n", slice_bytes=3)
    says(browser, "1 sent")
    assert len([path for path in paths(browser) if path.startswith("uploads/")]) == 1
    attach(browser.front, "x" * 300, b"content")
    says(browser, "under this name", wrong=True)
    attach(browser.front, "large.bin", b"", size=FILE_MAX_BYTES + 1)
    says(browser, "larger than 100 MB", wrong=True)
    say(browser.front, "file", b"abcdefgh", id="more", name="more.txt", size=4, at=0)
    says(browser, "larger than the browser announced", wrong=True)
    assert [*(tmp_path / "temporary").iterdir()] == []
    assert browser.front.parts("upload/") == {}
    assert len(paths(browser)) == len(PATHS) + 1


def test_hostile_names_are_text_wherever_they_stand(session: Session) -> None:
    names = [text.replace("/", "∕") for text in HOSTILE]
    moment = "2026-11-01T00:00:00Z"
    files = [WorkspaceFile(id="0", path=name, file_name=name, size_bytes=5, updated_at=moment) for name in names]
    browser = FileBrowser(session, files)
    shown = [part for row in browser.front.part("files") for part in row if isinstance(part, str)]
    assert [part for part in shown if FORBIDDEN.search(part)] == []
    for key in paths(browser):
        say(browser.front, "open", key=key)
        assert offences((browser.front.part("said") or {"html": ""})["html"]) == []
    says(browser, "file_not_found", wrong=True)
