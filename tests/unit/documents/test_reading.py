"""The readable text of files, whole, damaged and hostile (docs/api/files.md "What is read")."""

from __future__ import annotations

import io
import logging
import random
import zipfile
from pathlib import Path

import pytest

from agentsvc_nb.documents import reading
from agentsvc_nb.documents.media_types import HEAD_BYTES, OFFICE, guess
from agentsvc_nb.documents.reading import read_document
from agentsvc_nb.documents.texts import Document, TextPlace, find_place, has_text, read_quick
from tests.notebook import samples
from tests.reports.corpus import CASES, Case
from tests.unit.documents.word_files import paragraph, word_file

DOCX = OFFICE + "wordprocessingml.document"
XLSX = OFFICE + "spreadsheetml.sheet"
PPTX = OFFICE + "presentationml.presentation"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def read(file: Path, name: str, data: bytes) -> Document:
    """Read a file of this name as the service does."""
    file.write_bytes(data)
    media_type = guess(name, data[:HEAD_BYTES])
    assert has_text(media_type)
    return read_document(file, media_type, name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_document_from_a_bug_report_is_read(case: Case, file: Path) -> None:
    found = read(file, case.name, case.build())
    at = 0
    for text in case.has:
        at = found.text.find(text, at)
        assert at >= 0, (text, found.text)
        at += len(text)
    assert [text for text in case.lacks if text in found.text] == []
    assert case.says in found.unreadable
    assert bool(case.says) == bool(found.unreadable), found.unreadable


@pytest.mark.parametrize(
    ("media_type", "data", "text"),
    [
        ("text/plain", "\ufeffGröße 夏".encode("utf-16-le"), "Größe 夏"),
        ("text/plain", "Größe €5 – naïve".encode("cp1252"), "Größe €5 – naïve"),
        ("text/plain", "夏のセール".encode() + b"\xff\xff" + "夏".encode(), "夏のセール\ufffd\ufffd夏"),
        ("application/json", b'["caf\\u00e9"]', '[\n "caf\xe9"\n]'),
        ("application/json", b'["\\ud800"]', '[\n " "\n]'),
        ("application/json", b"[" * 50_000 + b'"\\u00e9"', "[" * 50_000 + '"\\u00e9"'),
    ],
)
def test_plain_text_is_read_as_it_is(file: Path, media_type: str, data: bytes, text: str) -> None:
    file.write_bytes(data)
    assert read_document(file, media_type) == read_quick(file, media_type) == Document(text)


def test_a_file_that_is_not_read_says_what_to_do_instead(file: Path) -> None:
    file.write_bytes(b"PK\x03\x04\0")
    assert not has_text("application/zip")
    assert read_document(file, "application/zip").unreadable.startswith("It is an archive")


def test_pages_and_slides_end_with_a_form_feed(file: Path) -> None:
    assert read(file, "a.pdf", samples.pdf(["One", "Two"])).text == "One\fTwo\f"
    deck = read(file, "a.pptx", samples.deck(("One", "x"), ("Two", "y")))
    assert deck.text == "# One\n\nx\f# Two\n\ny\f"


def test_the_place_of_a_passage_is_its_page_heading_and_line() -> None:
    text = "# Costs\n\nIn all 42 euros.\f## Later\nmore\f"
    assert find_place(text, text.index("42")) == TextPlace(1, "Costs", 3)
    assert find_place(text, text.index("more")) == TextPlace(2, "Later", 4)
    assert find_place("one\ntwo", 5) == TextPlace(None, "", 2)


def test_never_more_than_the_limit(file: Path) -> None:
    for media_type, data in (
        ("text/plain", "夏".encode() * 50_000),
        ("text/html", b"<p>words</p>" * 50_000),
        ("application/json", b"1" * 50_000),
        (DOCX, word_file(paragraph("words") * 5_000)),
        (XLSX, samples.workbook([["words"] * 20] * 500)),
        ("application/pdf", samples.pdf(["a page of words"] * 80)),
    ):
        file.write_bytes(data)
        assert len(read_document(file, media_type, limit=1_000).text) == 1_000


def test_of_a_pdf_that_takes_too_long_the_first_pages_are_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CPU_SECONDS", 0)
    file.write_bytes(samples.pdf(["Summer sale", "Winter sale"]))
    found = read_document(file, "application/pdf")
    assert found.text.strip() == "Summer sale"
    assert "first 1 page" in found.unreadable


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pdf", "a.html", "a.eml"])
def test_damaged_files_raise_no_error(file: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Cut anywhere, and with bytes changed: never an error, never a word to the log's reader."""
    whole = {
        "a.docx": word_file(paragraph("Summer sale")),
        "a.xlsx": samples.workbook([["Summer", 1]]),
        "a.pdf": samples.pdf(["Summer sale", "Second page"]),
        "a.eml": next(case for case in CASES if case.name == "html.eml").build(),
    }.get(name, b'<p a="b">{"a": ["\\u00e9"]}</p>' * 5)
    media_type, chance = guess(name, whole[:HEAD_BYTES]), random.Random(1)
    with caplog.at_level(logging.INFO):
        for _ in range(15):
            data = bytearray(whole[: chance.randrange(len(whole) + 1)] if chance.random() < 0.5 else whole)
            for _ in range(chance.randrange(8) if data else 0):
                data[chance.randrange(len(data))] = chance.randrange(256)
            file.write_bytes(data)
            found = read_document(file, media_type, limit=2_000)
            assert found.text or found.unreadable
    assert caplog.records == []


@pytest.mark.parametrize("inner", ["<w:p/>" * 6_000_000, "<w:p><w:r><w:t>" + "a" * 40_000_000])
def test_a_bomb_is_refused(file: Path, inner: str) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("word/document.xml", f"<w:document xmlns:w='x'><w:body>{inner}")
    file.write_bytes(buffer.getvalue())
    assert read_document(file, DOCX).unreadable == reading.DAMAGED
