"""The readable text of files, whole, damaged and hostile (docs/api/files.md "What is read")."""

from __future__ import annotations

import io
import json
import logging
import random
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from agentsvc_nb.documents import office
from agentsvc_nb.documents.documents import read_text
from agentsvc_nb.documents.media_types import OFFICE
from tests.notebook import samples

DOCX = OFFICE + "wordprocessingml.document"
XLSX = OFFICE + "spreadsheetml.sheet"
PPTX = OFFICE + "presentationml.presentation"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'

WORD = {
    "word/document.xml": f"""<w:document {W}><w:body>
        <w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>Summer</w:t></w:r>
        <w:r><w:tab/><w:t>Sale</w:t></w:r></w:p>
        <w:p><w:r><w:delText>gone</w:delText><w:t>Größe &amp; 夏</w:t></w:r></w:p></w:body></w:document>""",
    "word/footnotes.xml": f"<w:footnotes {W}><w:p><w:t>A note</w:t></w:p></w:footnotes>",
    "word/styles.xml": f"<w:styles {W}><w:t>not text</w:t></w:styles>",
}
EXCEL = {
    "xl/workbook.xml": f'<workbook {S}><sheets><sheet name="Spend"/><sheet name="Notes"/></sheets></workbook>',
    "xl/sharedStrings.xml": f"""<sst {S}><si><t>Channel</t></si><si><r><t>Se</t></r>
        <r><t>arch</t></r><rPh><t>x</t></rPh></si></sst>""",
    "xl/worksheets/sheet1.xml": f"""<worksheet {S}><sheetData>
        <row><c r="A1" t="s"><v>0</v></c><c r="C1"><v>12.5</v></c></row>
        <row><c r="A2" t="s"><v>1</v></c><c r="B2" t="b"><v>1</v></c><c r="C2" t="str"><f>A1</f><v>calc</v></c></row>
        </sheetData></worksheet>""",
    "xl/worksheets/sheet2.xml": f"""<worksheet {S}><row>
        <c t="inlineStr"><is><t>inline</t></is></c><c><v>7</v></c></row></worksheet>""",
}
SLIDES = {
    f"ppt/slides/slide{number}.xml": f"<a:sld {A}><a:p><a:r><a:t>Slide {number}</a:t></a:r></a:p></a:sld>"
    for number in (10, 2, 1)
} | {"ppt/notesSlides/notesSlide1.xml": f"<a:notes {A}><a:p><a:t>Say it</a:t></a:p></a:notes>"}


def packed(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def pdf(*pages: str) -> bytes:
    return samples.pdf(pages)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


@pytest.mark.parametrize(
    ("media_type", "data", "text"),
    [
        ("text/plain", b"Summer sale", "Summer sale"),
        ("text/plain; charset=utf-8", "Größe".encode(), "Größe"),
        ("text/plain", b"", ""),
        ("text/plain", "\ufeff夏".encode(), "夏"),
        ("text/plain", "\ufeffGröße 夏".encode("utf-16-le"), "Größe 夏"),
        ("text/plain", "\ufeffGröße 夏".encode("utf-16-be"), "Größe 夏"),
        ("text/plain", "Größe €5 – naïve".encode("cp1252"), "Größe €5 – naïve"),
        ("text/csv", "one Süche alone".encode("cp1252"), "one Süche alone"),
        ("text/plain", b"caf\xe9 \x81", "café \x81"),
        ("text/plain", "夏のセール".encode() + b"\xff\xff" + "夏".encode(), "夏のセール\ufffd\ufffd夏"),
        ("text/plain", b"\x00\x01\x02\x03binary", ""),
        ("text/plain", b"a\x00b" + b"." * 300, "a b" + "." * 300),
        ("text/markdown", b"# Head\n\n* one", "# Head\n\n* one"),
        ("text/csv", b"a,b\n1,2\n", "a,b\n1,2\n"),
        ("application/json", b'{"a": [1, 2.50]}', '{"a": [1, 2.50]}'),
        ("application/json", b'["caf\\u00e9"]', '[\n "caf\xe9"\n]'),
        ("application/json", b'["\\ud800", "cut', '["\\ud800", "cut'),
        ("application/json", b'["\\ud800"]', '[\n " "\n]'),
        ("application/x-ndjson", b'{"a":1}\n{"a":2}\n', '{"a":1}\n{"a":2}\n'),
        ("application/octet-stream", b"words", ""),
        ("image/png", b"words", ""),
        ("application/zip", packed({"a.txt": "words"}), ""),
        (PPTX, packed(SLIDES), "Slide 1\nSlide 2\nSlide 10\nSay it\n"),
        (DOCX, packed(WORD), "Summer\tSale\nGröße & 夏\nA note\n"),
        (XLSX, packed(EXCEL), "Spend\nChannel\t\t12.5\nSearch\tTRUE\tcalc\nNotes\ninline\t7\n"),
        ("application/pdf", pdf("Summer sale", "Second page"), "Summer sale\fSecond page\f"),
    ],
)
def test_reads(file: Path, media_type: str, data: bytes, text: str) -> None:
    file.write_bytes(data)
    assert read_text(file, media_type) == text


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (b"<title>A</title><p>Sum<b>mer</b>&nbsp;sale</p><div>B</div>C", "A Summer sale B C"),
        (b"<style>p {}</style><script>var x = '<p>no</p>';</script>yes", "yes"),
        (b"<p>1 < 2 & 3 > 2<br>R&D", "1 < 2 & 3 > 2 R&D"),
        (b"<![if !IE]>a<![endif]>b<!-- c -->d<![", "abd"),
        (b"<p>never <b>closed", "never closed"),
        (b'<a title="x > y">link</a>', "link"),
        (b"<p>text</p><!-- open <p>gone</p>", "text"),
        ("<meta charset='shift_jis'><p>夏のセール</p>".encode("shift_jis"), "夏のセール"),
        (
            '<meta http-equiv="x" content="text/html; charset=windows-1251"><p>Ёлка и ещё</p>'.encode("cp1251"),
            "Ёлка и ещё",
        ),
        ("<meta charset=latin1><p>Größe €</p>".encode(), "Größe €"),
    ],
)
def test_reads_what_is_seen_of_a_page(file: Path, page: bytes, words: str) -> None:
    file.write_bytes(page)
    assert read_text(file, "text/html").split() == words.split()


def test_never_more_than_the_limit(file: Path) -> None:
    for media_type, data in (
        ("text/plain", "夏".encode() * 50_000),
        ("text/html", b"<p>words</p>" * 50_000),
        ("application/json", b"1" * 50_000),
        (DOCX, packed({"word/document.xml": f"<w:d {W}>" + "<w:p><w:t>words</w:t></w:p>" * 50_000 + "</w:d>"})),
        ("application/pdf", pdf(*["a page of words"] * 80)),
    ):
        file.write_bytes(data)
        assert len(read_text(file, media_type, limit=1_000)) == 1_000


def test_a_cut_character_is_left_out_and_the_rest_is_read(file: Path) -> None:
    file.write_bytes("夏の".encode()[:-1])
    assert read_text(file, "text/plain") == "夏"


@pytest.mark.parametrize(
    "media_type", [DOCX, XLSX, PPTX, "application/pdf", "text/html", "application/json", "text/csv"]
)
def test_damaged_files_give_what_can_be_read(file: Path, media_type: str, caplog: pytest.LogCaptureFixture) -> None:
    """Cut anywhere, and with bytes changed: never an error, never a word to the log's reader."""
    whole = {
        DOCX: packed(WORD),
        XLSX: packed(EXCEL),
        PPTX: packed(SLIDES),
        "application/pdf": pdf("Summer sale", "Second page"),
    }.get(media_type, b'<p a="b">{"a": ["\\u00e9"]}</p>' * 5)
    chance = random.Random(1)
    with caplog.at_level(logging.INFO):
        for _ in range(15 if media_type == "application/pdf" else 60):  # each PDF takes a process
            data = bytearray(whole[: chance.randrange(len(whole) + 1)] if chance.random() < 0.5 else whole)
            for _ in range(chance.randrange(8) if data else 0):
                data[chance.randrange(len(data))] = chance.randrange(256)
            file.write_bytes(data)
            assert len(read_text(file, media_type, limit=2_000)) <= 2_000
    assert caplog.records == []


def test_what_stands_before_the_damage_is_read(file: Path) -> None:
    file.write_bytes(packed({"word/document.xml": f"<w:d {W}><w:p><w:t>before</w:t></w:p><w:p></oops>"}))
    assert read_text(file, DOCX) == "before\n"


def test_a_word_divided_at_the_end_of_a_line_of_a_pdf_is_one_word(file: Path) -> None:
    lines = pdf("exam-@ple of a@new line").replace(b"@", b") Tj 0 -30 Td (")
    file.write_bytes(lines)
    assert read_text(file, "application/pdf") == "example of a\nnew line\f"


def test_a_pdf_with_a_password_has_no_text(file: Path) -> None:
    """Its `/Encrypt` alone: no password opens it."""
    key = b"/Encrypt<</Filter/Standard/V 1/R 2/O<%s>/U<%s>/P -4>>/ID[<00><00>]" % (b"00" * 32, b"00" * 32)
    file.write_bytes(pdf("Secret plan").replace(b"/Root 1 0 R", b"/Root 1 0 R" + key))
    assert read_text(file, "application/pdf") == ""


def test_of_a_file_that_takes_too_long_its_beginning_is_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsvc_nb.documents.documents.CPU_SECONDS", 0)
    file.write_bytes(pdf("Summer sale", "Winter sale"))
    assert read_text(file, "application/pdf") == "Summer sale\f"
    file.write_bytes(packed({**EXCEL, "xl/sharedStrings.xml": f"<sst {S}>" + "<si/>" * 200_000 + "</sst>"}))
    assert read_text(file, XLSX) == ""


def test_elements_within_elements_without_end_are_not_followed(file: Path) -> None:
    """The parser keeps something of each that is open: 30 kB took 1.2 GB."""
    file.write_bytes(packed({"word/document.xml": f"<w:d {W}><w:p><w:t>before</w:t></w:p>" + "<w:p>" * 5_000}))
    assert "before" in read_text(file, DOCX)


def test_shared_strings_are_read_only_while_there_is_room(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty ones take room, too: 46 kB took 10 seconds."""
    closed = list[str]()
    was = office.Strings.closed

    def counted(self: office.Strings, name: str) -> None:
        closed.append(name)
        was(self, name)

    monkeypatch.setattr(office.Strings, "closed", counted)
    many = f"<sst {S}>" + "<si/>" * 300_000 + "</sst>"
    file.write_bytes(packed({**EXCEL, "xl/sharedStrings.xml": many}))
    assert read_text(file, XLSX, limit=1_000).startswith("Spend")
    assert len(closed) < 30_000


def test_a_bomb_is_harmless(file: Path) -> None:
    """40 MB of XML in 40 KB, as empty elements, as one endless tag and as text."""
    for xml in (f'<w:p w:id="{"0" * 900}"/>' * 44_000, "<w:p " + "a" * 40_000_000, "<w:t>" + "a" * 40_000_000):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("word/document.xml", f"<w:d {W}>" + xml)
        del xml
        file.write_bytes(buffer.getvalue())
        del buffer
        tracemalloc.start()
        assert len(read_text(file, DOCX)) <= 1_000_000
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 30_000_000


def test_entities_are_not_expanded(file: Path) -> None:
    lines = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    file.write_bytes(packed({"word/document.xml": f'<!DOCTYPE d [<!ENTITY e0 "x">{lines}]><d><p><t>&e9;</t></p></d>'}))
    assert read_text(file, DOCX) == ""


def test_a_list_of_members_that_is_too_long_is_not_read(file: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", WORD["word/document.xml"])
        for number in range(70):
            archive.writestr(zipfile.ZipInfo(f"{number:02}" + "x" * 65_000), b"")
    file.write_bytes(buffer.getvalue())
    assert read_text(file, DOCX) == ""


def test_deep_json_is_read_as_it_stands(file: Path) -> None:
    text = "[" * 50_000 + '"\\u00e9"'
    file.write_text(text)
    assert read_text(file, "application/json") == text
    file.write_text(json.dumps({"café": "夏"}))
    assert "夏" in read_text(file, "application/json")


def test_a_missing_file_is_an_error(file: Path) -> None:
    """The file's content may be damaged; that it is not there is the caller's affair."""
    with pytest.raises(FileNotFoundError):
        read_text(file, "text/plain")
