"""Whatever stands in a file, and whatever it is called: its preview executes nothing and fetches nothing."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable

import pytest

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.previews.decoding import CannotShow
from agentsvc_nb.notebook.previews.preview import Subject, pdf_bundle, picture_bundle, table_bundle
from agentsvc_nb.wire.files import WorkspaceFile
from tests.notebook import samples
from tests.notebook.previewed import harmless, preview
from tests.notebook.test_hostile import HOSTILE

SMALL = "UklGRg=="


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _csv(rows: list[list[str]]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return _encoded(written.getvalue())


def _subject(text: str) -> Subject:
    return Subject(WorkspaceFile(id=text, path=text, name=text, media_type=text, size_bytes=3), b"x")


def _page(text: str) -> Bundle:
    return pdf_bundle(_subject(text), {"count": 5, "pages": [{"picture": SMALL, "text": text}]})


def _sheet(text: str) -> Bundle:
    found = {"names": [text], "types": [text], "rows": [[text], [text, None]], "sheets": [text, text], "notes": [text]}
    return table_bundle("Table", found)


PLACES: dict[str, Callable[[str], Bundle]] = {
    "names of text": lambda text: preview(text, b"words", text),
    "what is said of a picture": lambda text: picture_bundle(
        _subject(text), {"picture": SMALL, "width": text, "height": text}
    ),
    "the words of a PDF": _page,
    "the cells of a sheet": _sheet,
    "text": lambda text: preview("a.txt", _encoded(text)),
    "Markdown": lambda text: preview("a.md", _encoded(text)),
    "HTML": lambda text: preview("a.html", _encoded(text)),
    "SVG": lambda text: preview("a.svg", _encoded(f"<svg>{text}</svg>")),
    "JSON": lambda text: preview("a.json", json.dumps({text: [text, {text: text}]}).encode()),
    "JSON as it stands": lambda text: preview("a.json", _encoded(text)),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_preview_is_allow_listed_html_and_harmless_text(place: str) -> None:
    for text in HOSTILE:
        harmless(PLACES[place](text))


def test_the_strings_within_files_that_a_process_decodes() -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in HOSTILE[::2]]
    rows = [[text, text] for text in texts]
    harmless(preview("a.csv", _csv([["<b>a", "b"], *rows, texts[:3]])))
    harmless(preview("a.csv", "\n\n".join(texts).encode()))
    harmless(preview("a.xlsx", samples.workbook([["<b>a", "b"], *rows], "<i>s")))
    harmless(preview("a.parquet", samples.parquet(["<b>a", '"'], rows)))
    words = [re.sub("[\0-\x08\x0b-\x1f\ufffe\uffff]", "", text) for text in texts]
    table = "".join(f"<w:tr><w:tc>{samples.paragraph(text)}</w:tc></w:tr>" for text in words)
    headings = "".join(samples.paragraph(text, "Heading1") for text in words)
    harmless(preview("a.docx", samples.word(f"{headings}<w:tbl>{table}</w:tbl>")))
    harmless(preview("a.pptx", samples.deck(*zip(words, words, strict=True))))
    shown = harmless(preview("a.pdf", samples.pdf(["<script>alert(1)</script>", '" onload="x'])))[1]
    assert "&lt;script&gt;alert(1)" in shown


@pytest.mark.parametrize("made", [None, 7, "", "AAAA' onerror='alert(1)", "<svg>", "A" * 200_000])
def test_a_picture_of_the_decoder_is_looked_at_before_it_is_shown(made: object) -> None:
    with pytest.raises(CannotShow):
        picture_bundle(_subject("a"), {"picture": made})
