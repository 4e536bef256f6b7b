"""`%files` and `%search`: what the notebook's chat holds, looked at in the cell; against a real service."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentsvc_nb import AgentService
from agentsvc_nb.client.models import columns
from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.display import results
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.previews.preview import HEAD_BYTES
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import open_beside
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.files import SearchResult
from tests.notebook.allowlist import offences
from tests.notebook.shells import bundle_of
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
    table = terminal.user_ns["table"]
    assert [str(kind) for kind in table.dtypes][: len(results.FILES)] == list(map(str, results.FILES.values()))
    assert set(table["kind"]) == {"upload", "output"}


def test_a_file_that_can_not_be_read_says_why(terminal: Any) -> None:
    Path("cut.docx").write_bytes(b"PK\x03\x04 the rest is missing")
    terminal.cell("%%ask --file cut.docx\nsay x")
    until(lambda: repr(terminal.cell("%files")), lambda shown: "uploads/cut.docx can't be read: It is damaged" in shown)


def test_a_file_that_a_run_replaced_is_restored(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("prices.csv").write_text("mine")
    terminal.cell("%%ask --file prices.csv\nsay x")
    answer = terminal.cell("%%ask\nwrite uploads/prices.csv ruined")
    assert "uploads/prices.csv  (6 B, version 2)" in answer.shown["text/plain"]
    assert "`%files restore PATH` brings one back" in repr(terminal.cell("%files"))
    text, _ = _shown(terminal.cell("%files -o table versions prices.csv"))
    assert [line.split()[0] for line in text.splitlines()[2:4]] == ["2", "1"]
    assert [*terminal.user_ns["table"]["version"]] == [2, 1]
    terminal.cell("%files restore prices.csv")
    assert "uploads/prices.csv: version 1 is back, as version 3." in capsys.readouterr().out
    terminal.cell("%files get prices.csv --to got")
    assert Path("got/prices.csv").read_text() == "mine"
    terminal.cell("%files restore uploads/prices.csv 1")
    assert "uploads/prices.csv already has the content of version 1." in capsys.readouterr().out
    for line, problem in (
        ("restore prices.csv 9", "has no version 9; nothing was restored"),
        ("restore prices.csv x", "has no version x; nothing was restored"),
        ("restore", "Name one file to restore"),
        ("versions", "Name one file to list the versions of"),
    ):
        with pytest.raises(AskError, match=problem):
            terminal.cell(f"%files {line}")
    Path("once.csv").write_text("1")
    terminal.cell("%files put once.csv")
    with pytest.raises(AskError, match="has only one version; nothing was restored"):
        terminal.cell("%files restore once.csv")


def test_a_glob_gets_the_files_that_fit(terminal: Any) -> None:
    terminal.cell("%%ask\nwrite out/a.txt A\nwrite out/b.txt B\nwrite [c].md C")
    assert terminal.cell("%files get out/*.txt out/a.txt [c].md --to got") == ["got/a.txt", "got/b.txt", "got/[c].md"]
    with pytest.raises(AskError, match=r"No file of this chat fits \*\.png"):
        terminal.cell("%files get *.png")


def test_a_file_is_looked_at_from_its_beginning(terminal: Any, client: AgentService, service: RunningService) -> None:
    """Two gigabytes of which next to nothing is on the disk, and of which little is fetched."""
    answer = terminal.cell("%%ask\nwrite out/prices.csv n,word,2gb\nwrite out/page.html <script>alert(1)</script>")
    assert "&lt;script&gt;" in _shown(terminal.cell("%files preview out/page.html"))[1]
    _, prices = client.files.list(answer.run.chat)
    place = DataFolder(service.data).blobs / prices.id[:2] / prices.id[2:4] / prices.id
    session = Session(journal=Journal(None))
    session.move(answer.run.chat)
    with place.open("r+b") as blob:
        blob.seek(0, 2)
        blob.writelines(b"\n%d,lamp,x" % n for n in range(100))
        blob.truncate(2_000_000_000)
    with open_beside(service.folder) as database:
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
    assert "the first 20 rows of 2.0 GB" in text
    assert ">lamp</td>" in html


def test_pictures_are_shown_small_beside_each_other(terminal: Any, tmp_path: Path) -> None:
    terminal.cell("%%ask\nsay x\nwrite fake.png <script>")
    for name, colour in (("red.png", "red"), ("blue.png", "blue")):
        picture = io.BytesIO()
        Image.new("RGB", (800, 400), colour).save(picture, "PNG")
        (tmp_path / name).write_bytes(picture.getvalue())
    terminal.cell("%files put red.png blue.png")
    text, html = _shown(terminal.cell("%files gallery"))
    assert html.count("data:image/webp;base64,") == 2
    assert "3 pictures" in text
    assert "1 not shown" in text
    assert _shown(terminal.cell("%files gallery *red*"))[1].count("<img") == 1
    assert "data:image/webp" in _shown(terminal.cell("%files preview uploads/red.png"))[1]
    with pytest.raises(AskError, match=r"no pictures that fit \*green\*"):
        terminal.cell("%files gallery *green*")


def test_search_marks_the_words_and_takes_them_as_they_stand(terminal: Any) -> None:
    terminal.cell("%%ask\nwrite out/plan.md The return on ad spend rose\nwrite out/other.md return spend on ad")
    until(lambda: len(terminal.cell('%search "return on ad spend"')) == 1)
    found = terminal.cell('%search -o hits "return on ad spend" -winter')
    text, html = _shown(found)
    assert "out/plan.md" in text
    assert "The <mark>return" in html
    hits = terminal.user_ns["hits"]
    assert [str(kind) for kind in hits.dtypes] == [*columns(SearchResult).values(), "string"]
    assert (hits["path"][0], hits.attrs["query"]) == ("out/plan.md", '"return on ad spend" -winter')


def test_a_folder_is_put_with_all_below_it_also_before_the_first_question(terminal: Any, tmp_path: Path) -> None:
    (folder := tmp_path / "many" / "deep").mkdir(parents=True)
    for number in range(14):
        (folder / f"{number}.txt").write_text(f"{number}")
    (tmp_path / "many" / ".hidden").write_text("x")
    terminal.cell(f"%files put {tmp_path / 'many'} -o said")
    assert terminal.user_ns["said"].startswith("14 sent")
    assert len(terminal.cell("%files")) == 14
    answer = terminal.cell("%%ask\nsay x")
    assert len(terminal.cell("%files")) == 14
    assert terminal.cell("%%ask\nsay y").chat == answer.chat
    terminal.cell(f"%files put {tmp_path / 'many'} -o said")
    assert terminal.user_ns["said"].startswith("0 sent, 14 unchanged")


def test_two_files_of_one_name_are_not_put_over_each_other(terminal: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.md").write_text(name)
    with pytest.raises(AskError, match="have one name; nothing was sent"):
        terminal.cell(f"%files put {tmp_path}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(AskError, match="has no files"):
        terminal.cell(f"%files put {tmp_path / 'empty'}")
