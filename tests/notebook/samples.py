"""Documents with text, made here."""

from __future__ import annotations

import io
from collections.abc import Sequence

import xlsxwriter


def pdf(texts: Sequence[str]) -> bytes:
    """A page for each text."""
    numbers = range(4, 4 + 2 * len(texts), 2)
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = ["<</Type/Catalog/Pages 2 0 R>>", f"<</Type/Pages/Count {len(texts)}/Kids[{kids}]>>"]
    objects += ["<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents {} 0 R>>"
    for number, text in zip(numbers, texts, strict=True):
        escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        content = f"BT /F1 24 Tf 40 700 Td ({escaped}) Tj ET"
        objects += [page.format(number + 1), f"<</Length {len(content)}>>stream\n{content}\nendstream"]
    out, table = "%PDF-1.7\n", "0000000000 65535 f \n"
    for number, written in enumerate(objects, 1):
        table += f"{len(out):010} 00000 n \n"
        out += f"{number} 0 obj\n{written}\nendobj\n"
    trailer = f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(out)}\n%%EOF"
    return f"{out}xref\n0 {len(objects) + 1}\n{table}{trailer}".encode("latin-1", "replace")


def workbook(rows: Sequence[Sequence[object]], sheet: str = "Prices") -> bytes:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True, "strings_to_urls": False, "strings_to_formulas": False}) as book:
        page = book.add_worksheet(sheet)
        for number, row in enumerate(rows):
            page.write_row(number, 0, row)
        book.add_worksheet("Notes")
    return out.getvalue()


def deck(*slides: tuple[str, str]) -> bytes:
    """A PowerPoint deck: the title and the text of each slide."""
    import pptx

    made, out = pptx.Presentation(), io.BytesIO()
    for title, text in slides:
        shapes = made.slides.add_slide(made.slide_layouts[1]).shapes
        shapes.title.text, shapes.placeholders[1].text = title, text
    made.save(out)
    return out.getvalue()
