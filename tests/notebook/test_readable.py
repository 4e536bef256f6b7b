"""What an answer looks like: numbers, tables, tasks, kinds of files, and prices as people read them."""

from __future__ import annotations

import re

import pytest

from agentsvc_nb.client import cards
from agentsvc_nb.documents.table_edges import COLUMNS
from agentsvc_nb.notebook.display.file_table import files_bundle, kind_of
from agentsvc_nb.notebook.display.markdown import to_html
from agentsvc_nb.notebook.display.render import answer_bundle, price, status_bundle
from agentsvc_nb.notebook.display.results import grid
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.models import _dollars
from agentsvc_nb.notebook.previews.preview import Subject, pdf_bundle, table_bundle
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.runs import Run, Usage
from agentsvc_nb.wire.text import is_number
from tests.notebook.allowlist import offences
from tests.notebook.test_hostile import HOSTILE

RUN = "0b9c1d2e-52a0-4c1e-9d1f-0a1b2c3d4e5f"


@pytest.mark.parametrize("text", ["5", "-3.5", "1,234.50 €", "$ 12", "12 %", "48 kB", "0.42 cents", "1 234,5", "1'000"])
def test_amounts_are_numbers(text: str) -> None:
    assert is_number(text)


@pytest.mark.parametrize("text", ["", "12 March", "2026-11-21", "v1.2", "A4", "1 of 2", "5" * 50, "€"])
def test_other_texts_are_not(text: str) -> None:
    assert not is_number(text)


def test_columns_of_numbers_stand_right_and_what_the_text_asks_for_counts() -> None:
    html = to_html("| a | sum | mid | left |\n|---|---|:-:|:--|\n| x | 1,234 | m | 5 |\n| y | 2 | n | 6 |")
    assert [side.partition(";")[0] for side in html.split("text-align:")[1:]] == ["left", "right", "center", "left"] * 3
    assert offences(html) == []
    table = grid("t", ["name", "n"], [["x", "1,234"], ["y", 2], ["z", None]])["text/html"]
    assert [side.partition(";")[0] for side in table.split("text-align:")[1:]] == ["left", "right"] * 4


def test_numbers_have_separators_and_years_and_ids_have_none() -> None:
    names = ["views", "share", "orderId", "since", "year of birth", "paid"]
    rows: list[list[object]] = [
        [1234567, 1234.5, 1234567, 2019, 1890, True],
        [None, 0.1 + 0.2, 7654321, 2024, 1910, False],
    ]
    records = [dict(zip(names, row, strict=True)) for row in rows]
    for bundle in (grid("t", names, rows), cards.table("t", names, records, 2)):
        head, first, second = (re.split(r"\s{2,}", line.strip()) for line in bundle["text/plain"].splitlines()[1:])
        assert head == names
        assert first == ["1,234,567", "1,234.5", "1234567", "2019", "1890", "True"]
        assert second == ["0.3", "7654321", "2024", "1910", "False"]
        cells = bundle["text/html"].rpartition("<thead>")[2].split("text-align:")[1:]
        sides = [cell.partition(";")[0] for cell in cells]
        assert sides == ["right", "right", "right", "right", "right", "left"] * 3


def test_a_previewed_table_has_separators_whatever_its_decoder_says() -> None:
    found = {"names": ["a", "b"], "types": ["number €", "text"], "rows": [["1234567.50", "1234567"], ["x"]]}
    text = table_bundle("t", found)["text/plain"]
    assert "1,234,567.50  1234567" in text


def test_a_table_of_many_columns_is_soon_there() -> None:
    columns = 20_000
    html = to_html("|a" * columns + "|\n" + "|-" * columns + "|\n")
    assert html.count("<th ") == columns > COLUMNS


def test_tasks_have_boxes() -> None:
    html = to_html("- [ ] to *do*\n- [x] done\n- [X] done\n- [y] other\n- plain")
    assert [item.partition("</li>")[0] for item in html.split("<li>")[1:]] == [
        "☐ to <em>do</em>", "☑ done", "☑ done", "[y] other", "plain"
    ]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_strings_stay_text_in_all_of_it(text: str) -> None:
    one = text.replace("\n", " ")
    html = to_html(f"- [ ] {one}\n- [x] {one}\n\n| {one} | 1 |\n|--:|---|\n| {one} | 2 |")
    assert offences(html) == []


def test_a_run_is_called_by_the_beginning_of_its_id() -> None:
    bundle = status_bundle(RunView(run_id=RUN))
    assert f'<span title="run {RUN}">run 0b9c1d2e</span>' in bundle["text/html"]
    assert f"run {RUN}" in bundle["text/plain"]
    assert offences(status_bundle(RunView(run_id='x" onclick=y'))["text/html"]) == []


def test_the_id_of_a_run_that_has_ended_unfolds_with_its_chat_and_tokens() -> None:
    usage = Usage(input_tokens=1234, output_tokens=5)
    run = Run(run_id=RUN, status="completed", chat="chat_<1>", usage=usage)
    view = RunView(run_id=RUN, status="completed", run=run)
    html = answer_bundle(view)["text/html"]
    folded = html.partition("<details")[2].partition("</details>")[0]
    assert "<summary" in folded
    assert ">✓ completed</span>" in folded
    assert f"<code>{RUN}</code>" in folded
    assert "<code>chat_&lt;1&gt;</code>" in folded
    assert "1,234 tokens in, 5 tokens out" in folded
    assert offences(html) == []
    assert "<details" not in status_bundle(RunView(run_id=RUN))["text/html"]


@pytest.mark.parametrize(
    ("model", "own", "said"),
    [("offline", True, "free"), ("offline", False, "0.06 cents"), ("openai:x", True, "0.06 cents")],
)
def test_what_nobody_is_charged_for_is_free(model: str | None, own: bool, said: str) -> None:
    assert price(60_000, model, own) == said


@pytest.mark.parametrize(
    ("name", "media", "said"),
    [
        ("a.csv", "text/csv", "CSV table"),
        ("a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "Word document"),
        ("a.mp4", "video/mp4", "video"),
        ("a.dwg", "application/octet-stream", "DWG file"),
        ("README", "application/octet-stream", "file"),
        ("a.<b>", "nonsense", "file"),
    ],
)
def test_a_file_has_a_kind_and_no_media_type(name: str, media: str, said: str) -> None:
    file = WorkspaceFile(id="x", path=f"out/{name}", file_name=name, media_type=media)
    assert kind_of(file) == said
    html = files_bundle([file])["text/html"]
    assert f'title="{said}, 0 bytes"' in html
    assert media not in html


def test_dollars_of_models_are_numbers_in_columns_of_their_own() -> None:
    assert _dollars((300.0, 1500.0), "nothing") == ("$3.00", "$15.00")
    assert _dollars((0.0, 0.0), "nothing") == _dollars(None, "nothing") == ("nothing", "")


def test_a_long_cell_is_not_squeezed_to_a_word_a_line() -> None:
    html = grid("Runs", ("run", "asked"), [("3daf2b29", "Which product has the highest price?")])["text/html"]
    assert ';white-space:nowrap">3daf2b29<' in html
    assert ';min-width:14em">Which product' in html
    assert offences(html) == []


def test_pages_of_a_pdf_have_an_edge() -> None:
    file = WorkspaceFile(id="x", path="a.pdf", file_name="a.pdf")
    html = pdf_bundle(Subject(file, b"x"), {"count": 1, "pages": [{"picture": "aaaa", "text": "x"}]})["text/html"]
    assert "border:1px solid" in html
    assert offences(html) == []
