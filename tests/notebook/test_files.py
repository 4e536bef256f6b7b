"""`%files` and `%search`: what the notebook's chat holds, looked at in the cell; against a real service."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentsvc_nb.client.frames import columns
from agentsvc_nb.notebook import frames
from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.wire.files import SearchResult
from tests.notebook.allowlist import offences
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("connected")


def _shown(value: Any) -> tuple[str, str]:
    bundle = value._repr_mimebundle_()
    assert offences(bundle["text/html"]) == []
    return bundle["text/plain"], bundle["text/html"]


def test_the_table_says_who_made_each_file(terminal: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    answer = terminal.cell("%%ask --file mine.csv\nsay x\nwrite out/plan.md # Plan")
    (tmp_path / "later.csv").write_text("a\n")
    terminal.cell("%files put later.csv")
    text, html = _shown(terminal.cell("%files -o table"))
    assert f"run {answer.run_id[:8]}" in text
    assert "3 files" in text
    assert ">out/plan.md</code>" in html
    table = terminal.user_ns["table"]
    assert [str(kind) for kind in table.dtypes][: len(frames.FILES)] == list(map(str, frames.FILES.values()))
    assert set(table["kind"]) == {"upload", "output"}


def test_what_goes_along_with_the_next_ask_is_listed(terminal: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("a\n")
    terminal.cell("%files put mine.csv")
    assert "1 more go along with the next %%ask" in repr(terminal.cell("%files"))


def test_several_files_are_got_at_once(terminal: Any) -> None:
    terminal.cell("%%ask\nwrite out/a.txt A\nwrite out/b.txt B")
    assert terminal.cell("%files get out/a.txt out/b.txt -d got") == ["got/a.txt", "got/b.txt"]
    assert Path("got/b.txt").read_text() == "B"


@pytest.mark.parametrize(
    ("name", "content", "html"),
    [
        ("a.txt", "<b>bold</b>", "&lt;b&gt;bold&lt;/b&gt;"),
        ("a.md", "# Title", "<h1>Title</h1>"),
        ("a.html", "<script>alert(1)</script>", "&lt;script&gt;"),
        ("a.json", '{"a":[1]}', "&quot;a&quot;: ["),
        ("a.csv", "name,price\n<i>lamp</i>,12", ">&lt;i&gt;lamp&lt;/i&gt;</td>"),
        ("empty.csv", "", "(empty)"),
        ("a.bin", "\0\1", "no text and no picture"),
    ],
)
def test_the_beginning_of_a_file_is_shown_by_what_it_is(
    terminal: Any, tmp_path: Path, name: str, content: str, html: str
) -> None:
    terminal.cell("%%ask\nsay x")
    (tmp_path / name).write_text(content)
    terminal.cell(f"%files put {name}")
    shown = terminal.cell(f"%files preview uploads/{name}")
    assert html in _shown(shown)[1]


def test_long_files_are_cut_with_a_word_on_it(terminal: Any, tmp_path: Path) -> None:
    terminal.cell("%%ask\nsay x")
    (tmp_path / "long.csv").write_text("n\n" + "\n".join(map(str, range(30))))
    (tmp_path / "long.txt").write_text("word " * 5000)
    terminal.cell("%files put long.csv long.txt")
    assert "the first 20 rows" in _shown(terminal.cell("%files preview uploads/long.csv"))[0]
    assert "(25,000 characters)" in _shown(terminal.cell("%files preview uploads/long.txt"))[0]


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


def test_nothing_found_is_a_typed_table_and_no_words_a_sentence(terminal: Any) -> None:
    terminal.cell("%%ask\nsay x")
    found = terminal.cell("%search nothing-like-it")
    assert "Nothing found" in repr(found)
    assert [str(kind) for kind in found.df.dtypes] == [*columns(SearchResult).values(), "string"]
    with pytest.raises(AskError, match="Name the words to look for"):
        terminal.cell("%search -o x")
