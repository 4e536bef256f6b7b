"""Small documents rebuilt from public bug reports, each with what its reader must find, and must not.

The data are invented. `CASES` names the report that a document is modelled on.
"""

from __future__ import annotations

import email.message
import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pptx
import xlsxwriter
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from tests.notebook import samples
from tests.unit.documents.word_files import paragraph, run, table, word_file


@dataclass(frozen=True)
class Case:
    """A document. Its text must have the strings of `has`, in their order, and none of `lacks`; `says` is in
    `unreadable`, which is empty without it."""

    name: str
    source: str
    build: Callable[[], bytes]
    has: Sequence[str] = ()
    lacks: Sequence[str] = ()
    says: str = ""
    media_type: str = field(default="")


def deck(fill: Callable[[Any], object]) -> bytes:
    """Return a deck with one slide that `fill` fills."""
    made, out = pptx.Presentation(), io.BytesIO()
    fill(made.slides.add_slide(made.slide_layouts[5]))
    made.save(out)
    return out.getvalue()


def box(shapes: Any, text: str) -> None:
    """Add a text box."""
    shapes.add_textbox(Inches(1), Inches(2), Inches(4), Inches(1)).text_frame.text = text


def slide_with_table_and_group(slide: Any) -> None:
    slide.shapes.title.text = "Quarterly pricing"
    cells = slide.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for at, text in enumerate(("Plan", "Price", "Enterprise", "$4,200/seat")):
        cells.cell(at // 2, at % 2).text = text
    outer = slide.shapes.add_group_shape()
    box(outer.shapes.add_group_shape().shapes, "Grouped twice")


def slide_with_chart(slide: Any) -> None:
    slide.shapes.title.text = "Spend"
    data = CategoryChartData()
    data.categories = ["Search", "Social"]
    data.add_series("2026", (1200.5, 800))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(1), Inches(4), Inches(3), data)


def slide_with_notes(slide: Any) -> None:
    slide.shapes.title.text = "Launch"
    slide.notes_slide.notes_text_frame.text = "Mention the discount"
    slide.element.set("show", "0")


def mail(plain: str = "", html: str = "", attached: str = "", charset: str = "utf-8") -> bytes:
    """Return a message."""
    made = email.message.EmailMessage()
    made["Subject"], made["From"], made["To"] = "Größe der Anzeige", "Ada <ada@shop.example>", "bo@shop.example"
    made["Date"] = "Mon, 02 Nov 2026 09:00:00 +0000"
    if plain:
        made.set_content(plain, charset=charset)
    if html:
        made.add_alternative(html, subtype="html") if plain else made.set_content(html, subtype="html")
    if attached:
        made.add_attachment(b"x", maintype="application", subtype="pdf", filename=attached)
    return made.as_bytes()


def workbook(hidden: bool = True) -> bytes:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        day, whole = book.add_format({"num_format": "yyyy-mm-dd"}), book.add_worksheet("Spend")
        whole.write_row(0, 0, ["Day", "Cost", "Share"])
        whole.write_number(1, 0, 46023, day)
        whole.write_row(1, 1, [1200, 0.25])
        secret = book.add_worksheet("Secret")
        secret.write(0, 0, "do not show")
        secret.hide()
    return out.getvalue()


def encrypted(stream: str) -> bytes:
    """Return the beginning of an OLE container that has a stream of this name."""
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + stream.encode("utf-16-le") + bytes(600)


def scan(*pages: str) -> bytes:
    """Return a PDF whose pages without a text are drawings."""
    return samples.pdf([page or "x" for page in pages]).replace(b"(x) Tj ET", b"() Tj ET 0 0 9 9 re f")


def locked() -> bytes:
    key = b"/Encrypt<</Filter/Standard/V 1/R 2/O<%s>/U<%s>/P -4>>/ID[<00><00>]" % (b"00" * 32, b"00" * 32)
    return samples.pdf(["Secret plan"]).replace(b"/Root 1 0 R", b"/Root 1 0 R" + key)


def items(*texts: str) -> str:
    """Return paragraphs of a numbered list."""
    numbered = '<w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>'
    return "".join(f"<w:p>{numbered}{run(text)}</w:p>" for text in texts)


NUMBERING: Final = (
    '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
)
BOX: Final = "<w:txbxContent>" + paragraph("CALLOUT") + "</w:txbxContent>"
DRAWING: Final = f"<w:drawing><wps:wsp><wps:txbx>{BOX}</wps:txbx></wps:wsp></w:drawing>"
ALTERNATIVES: Final = (
    f"<mc:AlternateContent><mc:Choice>{DRAWING}</mc:Choice><mc:Fallback><w:pict><v:textbox>{BOX}</v:textbox></w:pict>"
    "</mc:Fallback></mc:AlternateContent>"
)
NESTED: Final = table(["a", table(["inner 1", "inner 2"]) + "<w:p/>"], ["b", "c"])
HIDDEN: Final = run("internal", "<w:vanish/>")
FORM: Final = (
    b"<</Type/Annot/Subtype/Widget/FT/Tx/T(fee)/TU(Agency fee)/V(12 percent)/Rect[300 600 400 620]/F 4/P %d 0 R>>"
)


def form() -> bytes:
    """Return a PDF with a text field, whose value is in no content stream."""
    made = samples.pdf(["Contract"])
    field_ = FORM % 5
    page = b"/Annots[" + field_ + b"]/Parent 2 0 R"
    catalog = b"/Type/Catalog/AcroForm<</Fields[]>>"
    return made.replace(b"/Parent 2 0 R", page).replace(b"/Type/Catalog", catalog)


CASES: Final = (
    Case(
        "hyphen.docx",
        "python-docx#1018, #454",
        lambda: word_file("<w:p><w:r><w:t>5</w:t><w:noBreakHyphen/><w:t>7 percent</w:t></w:r></w:p>"),
        ["5-7 percent"],
    ),
    Case(
        "vanish.docx",
        "kreuzberg, docling: hidden text",
        lambda: word_file(paragraph("Price ", HIDDEN, "10")),
        ["Price 10"],
        ["internal"],
    ),
    Case(
        "changes.docx",
        "mammoth.js#351, show-docx#3",
        lambda: word_file(
            f"<w:p>{run('Budget ')}<w:del><w:r><w:delText>40</w:delText></w:r></w:del><w:ins>{run('65')}</w:ins></w:p>"
        ),
        ["Budget 65"],
        ["40"],
    ),
    Case(
        "moved.docx",
        "python-docx: tracked moves",
        lambda: word_file(
            f"<w:p><w:moveFrom>{run('Fee')}</w:moveFrom></w:p>{paragraph('Terms')}<w:p><w:moveTo>{run('Fee')}</w:moveTo></w:p>"
        ),
        ["Terms", "Fee"],
    ),
    Case(
        "drawing.docx",
        "markitdown#2514",
        lambda: word_file(f"{paragraph('Before')}<w:p><w:r>{DRAWING}</w:r></w:p>"),
        ["Before", "CALLOUT"],
    ),
    Case(
        "box.docx", "docx-cli#4, mammoth.js#32", lambda: word_file(f"<w:p><w:r>{ALTERNATIVES}</w:r></w:p>"), ["CALLOUT"]
    ),
    Case(
        "field.docx",
        "python-docx#498",
        lambda: word_file(f'<w:p>{run("Page ")}<w:fldSimple w:instr="PAGE">{run("7")}</w:fldSimple></w:p>'),
        ["Page 7"],
    ),
    Case(
        "control.docx",
        "docling#494",
        lambda: word_file(table(["Name", f"<w:sdt><w:sdtContent>{paragraph('Ada')}</w:sdtContent></w:sdt>"])),
        ["| Name | Ada |"],
    ),
    Case("nested.docx", "docling#3508", lambda: word_file(NESTED), ["a", "inner 1", "inner 2", "b", "c"]),
    Case(
        "list.docx",
        "markitdown#1415",
        lambda: word_file(items("One", "Two") + paragraph("end"), numbering=NUMBERING),
        ["1. One", "2. Two", "end"],
    ),
    Case(
        "fraction.docx",
        "mammoth: OMML is dropped",
        lambda: word_file(
            "<w:p><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath></w:p>"
        ),
        ["1/2"],
    ),
    Case(
        "strike.docx",
        "markitdown: dstrike",
        lambda: word_file(paragraph(run("12", "<w:dstrike/>"), run("10 euros"))),
        ["10 euros"],
        ["12"],
    ),
    Case(
        "header.docx",
        "python-docx#1042",
        lambda: word_file(paragraph("Letter"), header1=paragraph("Tea Company")),
        ["Letter", "Tea Company"],
    ),
    Case(
        "password.docx", "kreuzberg: encrypted Office", lambda: encrypted("EncryptedPackage"), says="needs a password"
    ),
    Case("old.doc", "markitdown#23", lambda: encrypted("WordDocument"), says="old format of Office"),
    Case("cut.docx", "a cut download", lambda: word_file(paragraph("words"))[:-80], says="damaged or cut off"),
    Case(
        "hidden.html",
        "pandas, docling#2330",
        lambda: b"<p>Cost <span hidden>9</span><span style='display:none'>8</span><del>12</del> 10",
        ["Cost 10"],
        ["9", "8", "12"],
    ),
    Case(
        "div.html",
        "docling#3618",
        lambda: b"<ul><li><span>Step</span><div><div><ul><li>Nested detail</ul></div></div></ul>",
        ["- Step", "- Nested detail"],
    ),
    Case(
        "layout.html",
        "docling#2330",
        lambda: b"<table><tr><td>(d)</td><td><p>to issue:</p><table><tr><td>(i)<td>first</table></table>",
        ["(d)", "to issue:", "| (i) | first |"],
    ),
    Case(
        "list.html",
        "docling#3508",
        lambda: b"<ol><li>before<table><tr><td>r1c1<td>r1c2</table>after<li>next</ol>",
        ["1. before", "| r1c1 | r1c2 |", "after", "2. next"],
    ),
    Case(
        "marks.html",
        "pandas#29617",
        lambda: b"<p>1,234<sup>[2]</sup> leads at 10<sup>99</sup> &euro;",
        ["1,234 leads at 10.99 €"],
    ),
    Case(
        "script.html",
        "a page drawn by scripts",
        lambda: b"<div id=app></div><script>draw()</script>",
        says="a script may show it",
    ),
    Case(
        "login.pdf",
        "a download that saved an error page",
        lambda: b"<!doctype html><p>Please log in",
        ["Please log in"],
        says="It is an HTML page",
    ),
    Case(
        "group.pptx",
        "python-pptx#955, agentscope#2659",
        lambda: deck(slide_with_table_and_group),
        ["# Quarterly pricing", "| Enterprise | $4,200/seat |", "Grouped twice"],
    ),
    Case(
        "chart.pptx",
        "python-pptx: charts",
        lambda: deck(slide_with_chart),
        ["# Spend", "| Search | 1200.5 |", "| Social | 800 |"],
    ),
    Case(
        "notes.pptx",
        "python-pptx: notes, hidden slides",
        lambda: deck(slide_with_notes),
        ["# Launch (hidden slide)", "Notes: Mention the discount"],
    ),
    Case("form.pdf", "pypdfium2#321, docling#2677", form, ["Contract", "Agency fee: 12 percent"]),
    Case(
        "lines.pdf",
        "pypdf#598, PDFium's hyphens",
        lambda: samples.pdf(["exam-@ple"]).replace(b"@", b") Tj 0 -30 Td ("),
        ["example"],
    ),
    Case("locked.pdf", "any PDF with a password", locked, says="needs a password"),
    Case("scan.pdf", "a scan without text", lambda: scan("", ""), says="a scan without text: its 2 pages are pictures"),
    Case(
        "partly.pdf",
        "a scan among pages",
        lambda: scan("Text", ""),
        ["Text"],
        says="Some of its 2 pages are pictures without text: 2.",
    ),
    Case("empty.pdf", "an empty upload", lambda: b"", says="It is empty."),
    Case(
        "html.eml",
        "mailparser#370",
        lambda: mail(html="<p style='display:none'>preheader</p><p>Große Rabatte"),
        ["# Größe der Anzeige", "From: Ada <ada@shop.example>", "Große Rabatte"],
        ["preheader"],
    ),
    Case(
        "plain.eml",
        "MSGReader#211",
        lambda: mail("Zażółć gęślą", attached="offer.pdf", charset="iso-8859-2"),
        ["Attached: offer.pdf", "Zażółć gęślą"],
    ),
    Case(
        "charset.eml", "eml_parser#38", lambda: mail("cafe").replace(b'charset="utf-8"', b'charset="x-none"'), ["cafe"]
    ),
    Case(
        "hidden.xlsx",
        "a hidden sheet",
        workbook,
        ["## Spend", "| Day | Cost | Share |", "| 2026-01-01 | 1200 | 0.25 |", "Secret"],
        ["do not show"],
    ),
    Case("page.xls", "xlrd#350", lambda: b"<table><tr><th>Day<th>Cost<tr><td>Monday<td>5</table>", ["| Monday | 5 |"]),
    Case("rows.xlsx", "SheetJS#1178", lambda: b"Day,Cost\nMonday,5\n", ["Monday,5"]),
    Case("tabs.xls", "xlrd#188", lambda: "\ufeffDay\tCost\nMonday\t5\n".encode("utf-16-le"), ["Monday\t5"]),
    Case("list.csv", "JSON named .csv", lambda: b'[{"day": "Monday"}]', ["Monday"]),
    Case("log.txt.gz", "gzip", lambda: gzip.compress(b"packed words"), ["packed words"]),
)
