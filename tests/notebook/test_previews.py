"""A file is shown for what its bytes say, as `map` and SQL read it; what can't be shown is a sentence."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import struct
import wave
import zipfile
import zlib
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import pytest
from PIL import Image

from agentsvc_nb import read_table
from agentsvc_nb.client import batch_rows as rows
from agentsvc_nb.documents.engine.child import answer
from agentsvc_nb.documents.engine.messages import ReadQuestion, SqlQuestion, TableFile, UsedTable
from agentsvc_nb.documents.tables.profiles import name_tables
from agentsvc_nb.notebook.display.file_table import OUTPUT_BYTES
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.previews.decoding import CannotShow
from agentsvc_nb.notebook.previews.preview import (
    HEAD_BYTES,
    PreviewedFile,
    pdf_bundle,
    picture_bundle,
    preview_bundle,
    table_bundle,
)
from agentsvc_nb.wire.files import WorkspaceFile
from tests.notebook import samples
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.test_hostile import HOSTILE


def picture() -> bytes:
    out = io.BytesIO()
    Image.linear_gradient("L").resize((1200, 800)).save(out, "PNG")
    return out.getvalue()


OFFICE: Final = "http://schemas.openxmlformats.org"


def word(body: str) -> bytes:
    """A Word document with this XML between its `<w:body>` and `</w:body>`."""
    space, out = f'xmlns:w="{OFFICE}/wordprocessingml/2006/main"', io.BytesIO()
    with zipfile.ZipFile(out, "w") as put:
        put.writestr("[Content_Types].xml", "<Types/>")
        put.writestr("word/document.xml", f"<w:document {space}><w:body>{body}</w:body></w:document>")
    return out.getvalue()


def paragraph(text: str, style: str = "") -> str:
    said = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{said}<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def sound() -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as made:
        made.setparams((1, 1, 8_000, 0, "NONE", ""))
        made.writeframes(bytes(range(256)) * 15)
    return out.getvalue()


HONEST: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "chart.png": (picture, "1,200 × 800 pixels", 'alt="chart.png, 1,200 × 800 pixels"'),
    "plan.pdf": (
        lambda: samples.pdf(["The autumn plan", "Budget", "Dates", "Names"]),
        "page 1 of 4: The autumn plan",
        'alt="plan.pdf, page 3 of 4: Dates"',
    ),
    "prices.xlsx": (
        lambda: samples.workbook([["product", "price"], ["lamp", 12.5], ["chair", 80]]),
        "text     number",
        ">chair</td>",
    ),
    "brief.docx": (
        lambda: word(paragraph("Autumn", "Heading1") + paragraph("Spend 5 * 3 in #1")),
        "# Autumn",
        "<h1>Autumn</h1>\n<p>Spend 5 * 3 in #1</p>",
    ),
    "facts.json": (lambda: b'{"channels": ["mail", {"paid": true}]}', '"paid": true', "&quot;channels&quot;: ["),
    "jingle.wav": (sound, "A sound", '<audio controls preload="metadata" src="data:audio/wav;base64,'),
    "brief.txt": (lambda: "Größe und Straße für übermorgen".encode("cp1252"), "probably in cp1252)", "Straße"),
    "model.bin": (lambda: bytes(range(256)) * 4, "There is no preview", "Download it"),
}
"""By name: how it is made, and what its text and its HTML hold."""


@pytest.mark.parametrize("name", HONEST)
def test_a_file_is_shown_by_its_kind(name: str) -> None:
    make, in_text, in_html = HONEST[name]
    text, shown = harmless(preview(name, make()))
    assert in_text in text
    assert in_html in shown
    assert "another format" not in text


def test_a_name_that_lies_is_told_and_the_file_shown_for_what_it_is() -> None:
    text, shown = harmless(preview("logo.png", b"<!doctype html><h1>Hello</h1>", "image/png"))
    assert "another format" in text
    assert "&lt;h1&gt;Hello" in shown


def test_a_damaged_file_is_a_sentence_and_how_to_have_it() -> None:
    data = HONEST["prices.xlsx"][0]()
    text, _ = harmless(preview("prices.xlsx", data[:40] + bytes(len(data) // 2)))
    assert "damaged" in text or "can't be read" in text
    assert "%files get prices.xlsx" in text
    assert "agentsvc-preview" not in text, "no path of this machine"


def test_what_is_half_there_is_shown_as_far_as_it_goes() -> None:
    assert "not valid JSON" in harmless(preview("a.json", b'{"a": '))[0]
    assert "a b   1.5" in harmless(preview("a.csv", 'x;y\n"a\nb";1,5\n'.encode("utf-16")))[0]


def test_of_a_long_file_the_beginning_is_shown() -> None:
    rows = b"n,word\n" + b"".join(b"%d,lamp\n" % n for n in range(20_000))
    assert "the first 20 of 20,000" in harmless(preview("a.csv", rows))[0]
    assert "20 rows of a file of 6.0 MB" in harmless(preview("a.csv", rows, size=6_000_000))[0]
    assert "the first 4,000 of 5,000 characters" in harmless(preview("a.txt", b"x" * 5_000))[0]


def wide_picture(edge: int = 20_000) -> bytes:
    """A small PNG that says that it has `edge` pixels each way."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", edge, edge, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1 + 3 * edge))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def bomb(declared: int) -> bytes:
    """A small workbook whose sheet unpacks to a megabyte; it declares another number of bytes."""
    out, sheet = io.BytesIO(), b"<row><c><v>1</v></c></row>" * 40_000
    with zipfile.ZipFile(io.BytesIO(samples.workbook([["a"]]))) as given, zipfile.ZipFile(out, "w", 8) as put:
        for name in given.namelist():
            put.writestr(name, sheet if name == "xl/worksheets/sheet1.xml" else given.read(name))
    return out.getvalue().replace(struct.pack("<I", len(sheet)), struct.pack("<I", declared))


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("a.png", wide_picture, "The picture has 20,000 × 20,000 pixels"),
        ("a.xlsx", lambda: bomb(2_000_000_000), "unpacks to more than 800 MB"),
    ],
)
def test_what_is_made_to_cost_much_is_a_sentence_or_its_beginning(
    name: str, make: Callable[[], bytes], said: str
) -> None:
    assert said in harmless(preview(name, make()))[0]


PLAYER = re.compile(
    r'<(audio|video) controls preload="metadata" src="data:(?:audio|video)/[a-z0-9]+;base64,[A-Za-z0-9+/=]+"'
    r' title="[^"<>]*"(?: style="[a-z0-9:;%-]+")?></\1>'
)


def preview(name: str, data: bytes, media_type: str = "", size: int | None = None) -> Bundle:
    """As `%files preview` shows it: the whole file is fetched only where a kind needs it."""
    length = len(data) if size is None else size
    file = WorkspaceFile(id="0" * 64, path=name, file_name=name, media_type=media_type, size_bytes=length)

    def fetch(place: Path) -> None:
        place.write_bytes(data)

    return preview_bundle(file, data[:HEAD_BYTES], fetch)


def harmless(bundle: Bundle) -> tuple[str, str]:
    """Its text and HTML, judged."""
    text, shown = bundle["text/plain"], bundle["text/html"]
    assert set(bundle) == {"text/plain", "text/html"}
    assert offences(PLAYER.sub("", shown)) == []
    assert FORBIDDEN.findall(text) == []
    assert FORBIDDEN.findall(html.unescape(shown)) == []
    assert len(shown.encode()) <= OUTPUT_BYTES
    return text, shown


EXPORT = """Campaign;Day;Cost;Clicks
Summer, all;01.05.2025;1.234,50 €;12
Brand DE;02.05.2025;3,10 €;1.000
Gesamt;;1.237,60 €;1.012
"""


def test_an_export_looks_the_same_everywhere(tmp_path: Path) -> None:
    """Its total row is in none."""
    data = EXPORT.encode("cp1252")
    (place := tmp_path / "meta.csv").write_bytes(data)
    lines = [line.split() for line in harmless(preview("meta.csv", data))[0].splitlines()]
    at = lines.index(["Campaign", "Day", "Cost", "Clicks"])
    assert [kind for kind in lines[at + 1] if kind != "€"] == ["text", "date", "number", "number"]
    assert lines[at - 1] == ["2", "rows"]
    assert lines[at + 2 : at + 4] == [
        ["Summer,", "all", "2025-05-01", "1,234.50", "12"],
        ["Brand", "DE", "2025-05-02", "3.10", "1,000"],
    ]
    frame = read_table(place)
    assert frame["Day"].tolist() == [datetime(2025, 5, 1), datetime(2025, 5, 2)]
    asked = rows.make_rows(rows.adapt(frame), "{{Campaign}}: {{Cost}} / {{Clicks}}", None, {})
    assert [row.message for row in asked] == ["Summer, all: 1234.5 / 12", "Brand DE: 3.1 / 1000"]
    file = TableFile("0" * 64, place.suffix, str(place))
    (table,) = name_tables({"x": answer(ReadQuestion(file), tmp_path).tables}, {"x": "ads"})["x"]
    question = SqlQuestion("SELECT sum(Cost), sum(Clicks) FROM ads", (UsedTable(file, 0, table),))
    query = answer(question, tmp_path).query
    assert query is not None
    assert [Decimal(cell) for cell in query.rows[0]] == [Decimal("1237.6"), 1012]


SMALL = "UklGRg=="


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _csv(rows: list[list[str]]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return _encoded(written.getvalue())


def _subject(text: str) -> PreviewedFile:
    return PreviewedFile(WorkspaceFile(id=text, path=text, name=text, media_type=text, size_bytes=3), b"x")


def _page(text: str) -> Bundle:
    return pdf_bundle(_subject(text), {"count": 5, "pages": [{"picture": SMALL, "text": text}]})


def _sheet(text: str) -> Bundle:
    found = {"names": [text], "types": [text], "rows": [[text], [text, None]], "sheets": [text, text], "notes": [text]}
    return table_bundle("Table", found)


PLACES: dict[str, Callable[[str], Bundle]] = {
    "names of text": lambda text: preview(text, b"words", text),
    "the words of a PDF": _page,
    "the cells of a sheet": _sheet,
    "text": lambda text: preview("a.txt", _encoded(text)),
    "Markdown": lambda text: preview("a.md", _encoded(text)),
    "HTML": lambda text: preview("a.html", _encoded(text)),
    "JSON": lambda text: preview("a.json", json.dumps({text: [text, {text: text}]}).encode()),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_preview_is_allow_listed_html_and_harmless_text(place: str) -> None:
    for text in HOSTILE:
        harmless(PLACES[place](text))


def test_the_strings_within_files_that_a_process_decodes() -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in HOSTILE[::2]]
    rows = [[text, text] for text in texts]
    harmless(preview("a.csv", _csv([["<b>a", "b"], *rows, texts[:3]])))
    harmless(preview("a.xlsx", samples.workbook([["<b>a", "b"], *rows], "<i>s")))
    words = [re.sub("[\0-\x08\x0b-\x1f\ufffe\uffff]", "", text) for text in texts]
    harmless(preview("a.docx", word("".join(paragraph(text, "Heading1") for text in words))))
    harmless(preview("a.pptx", samples.deck(*zip(words, words, strict=True))))
    shown = harmless(preview("a.pdf", samples.pdf(["<script>alert(1)</script>", '" onload="x'])))[1]
    assert "&lt;script&gt;alert(1)" in shown


@pytest.mark.parametrize("made", [None, "AAAA' onerror='alert(1)", "A" * 200_000])
def test_a_picture_of_the_decoder_is_looked_at_before_it_is_shown(made: object) -> None:
    with pytest.raises(CannotShow):
        picture_bundle(_subject("a"), {"picture": made})
