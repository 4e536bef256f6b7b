"""Files of each kind to look at, made here: small ones, and ones that would cost much to decode."""

from __future__ import annotations

import io
import math
import tempfile
import wave
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import duckdb
import xlsxwriter
from PIL import Image

MP4_HEAD: Final = b"\0\0\0\x18ftypisom\0\0\2\0isomiso2"


def picture(kind: str = "PNG", size: tuple[int, int] = (1200, 800), mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert(mode).save(out, kind)
    return out.getvalue()


def pdf(texts: Sequence[str] = ("The autumn plan",), pages: int = 0) -> bytes:
    """A page for each text; then as many pages as there should be, which have the first one's contents."""
    contents = [f"BT /F1 24 Tf 40 700 Td ({_escaped(text)}) Tj ET".encode("latin-1", "replace") for text in texts]
    count = max(len(texts), pages)
    first = 4 + len(contents)
    kids = " ".join(f"{first + number} 0 R" for number in range(count))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {count}/Kids[{kids}]>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        *(b"<</Length %d>>stream\n%s\nendstream" % (len(content), content) for content in contents),
    ]
    page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents {} 0 R>>"
    objects += [page.format(4 + min(number, len(contents) - 1)).encode() for number in range(count)]
    return _numbered(objects)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _numbered(objects: Sequence[bytes]) -> bytes:
    out, places = io.BytesIO(b"%PDF-1.7\n"), []
    out.seek(0, io.SEEK_END)
    for number, content in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    start = out.tell()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode())
    out.write(f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF".encode())
    return out.getvalue()


def workbook(rows: Sequence[Sequence[object]], sheet: str = "Prices", far: bool = False) -> bytes:
    """With `far`, a second cell stands in the last row and column that a sheet can have."""
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True, "strings_to_urls": False, "strings_to_formulas": False}) as book:
        page = book.add_worksheet(sheet)
        for number, row in enumerate(rows):
            page.write_row(number, 0, row)
        if far:
            page.write(1_048_575, 16_383, "far")
        book.add_worksheet("Notes")
    return out.getvalue()


OFFICE: Final = "http://schemas.openxmlformats.org"


def packed(members: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as put:
        put.writestr("[Content_Types].xml", "<Types/>")
        for name, text in members.items():
            put.writestr(name, text)
    return out.getvalue()


def word(body: str) -> bytes:
    """A Word document with this XML between its `<w:body>` and `</w:body>`."""
    space = f'xmlns:w="{OFFICE}/wordprocessingml/2006/main"'
    return packed({"word/document.xml": f"<w:document {space}><w:body>{body}</w:body></w:document>"})


def paragraph(text: str, style: str = "") -> str:
    said = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{said}<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def deck(*slides: tuple[str, str]) -> bytes:
    """A PowerPoint deck: the title and the text of each slide."""
    import pptx

    made, out = pptx.Presentation(), io.BytesIO()
    for title, text in slides:
        shapes = made.slides.add_slide(made.slide_layouts[1]).shapes
        shapes.title.text, shapes.placeholders[1].text = title, text
    made.save(out)
    return out.getvalue()


def parquet(names: Sequence[str], rows: Sequence[Sequence[object]]) -> bytes:
    quoted = ", ".join('"{}"'.format(name.replace('"', '""')) for name in names)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as engine:
        place = Path(folder, "x.parquet")
        marks = ", ".join("(" + ", ".join("?" for _ in row) + ")" for row in rows)
        values = [value for row in rows for value in row]
        engine.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {marks}) AS given({quoted})", values)
        engine.execute(f"COPY t TO '{place}' (FORMAT parquet)")
        return place.read_bytes()


def sound(seconds: float = 0.5) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as made:
        made.setparams((1, 1, 8_000, 0, "NONE", ""))
        made.writeframes(bytes(int(128 + 60 * math.sin(n / 3)) for n in range(int(8_000 * seconds))))
    return out.getvalue()


HONEST: Final[dict[str, Callable[[], bytes]]] = {
    "chart.png": picture,
    "photo.jpg": lambda: picture("JPEG"),
    "plan.pdf": lambda: pdf(["The autumn plan", "Budget", "Dates", "Names"]),
    "prices.parquet": lambda: parquet(["product", "price"], [["lamp", 12.5], ["chair", 80.0]]),
    "prices.xlsx": lambda: workbook([["product", "price"], ["lamp", 12.5], ["chair", 80]]),
    "brief.docx": lambda: word(
        paragraph("Autumn", "Heading1")
        + paragraph("Spend 5 * 3 in #1")
        + "<w:tbl><w:tr><w:tc>"
        + paragraph("lamp")
        + "</w:tc><w:tc>"
        + paragraph("12.5")
        + "</w:tc></w:tr></w:tbl>"
    ),
    "deck.pptx": lambda: deck(("Autumn plan", "From Monday"), ("Dates", "In October")),
    "prices.csv": lambda: b"product;price\nlamp;12.5\nchair;80\n",
    "facts.json": lambda: b'{"name": "Autumn", "channels": ["mail", {"paid": true}], "budget": null}',
    "notes.md": lambda: b"# Autumn\n\n* one **bold** word\n",
    "page.html": lambda: b"<!doctype html><title>Sale</title><h1 style='color:#a33'>Autumn sale</h1><p>From Monday.",
    "logo.svg": lambda: (
        b'<svg xmlns="http://www.w3.org/2000/svg" width="80" height="80"><circle r="40" fill="teal"/></svg>'
    ),
    "jingle.wav": sound,
    "brief.txt": lambda: "Größe und Straße für übermorgen; schöne Grüße.".encode("cp1252"),
    "model.bin": lambda: bytes(range(256)) * 4,
}
