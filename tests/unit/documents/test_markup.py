"""HTML and Word files as one tree of what a reader sees (documents/markup.py)."""

from __future__ import annotations

import io
import zipfile

import pytest

from agentsvc_nb.documents.markup import parse_html, visible_text, word_to_html
from tests.unit.documents.word_files import paragraph, run, table, word_file

HIDDEN_STYLES = (
    '<w:style w:type="paragraph" w:styleId="Secret"><w:rPr><w:vanish/></w:rPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Deeper"><w:basedOn w:val="Secret"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Shown"><w:basedOn w:val="Secret"/>'
    '<w:rPr><w:vanish w:val="0"/></w:rPr></w:style>'
)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>5 < 6 &amp; 7 > 6", "5 < 6 & 7 > 6"),
        ("<p>Cost <span hidden>1</span><span style='DISPLAY : none'>2</span>3", "Cost 3"),
        ("<p style='visibility: hidden'>no</p>yes", "yes"),
        ("<span class='badge sr-only'>no</span><span class='sr-only-not'>yes</span>", "yes"),
        ("<s>12</s><del>13</del><strike>14</strike><span style='text-decoration: line-through'>15</span> 10", "10"),
        ("<script>x</script><style>p{}</style><noscript>n</noscript><template>t</template>yes", "yes"),
        ("1,234<sup>1</sup> 1,234<sup>[2]</sup> 1,234<sup>[12][13]</sup> 1,234<sup>*</sup>", "1,234 1,234 1,234 1,234"),
        ("<p>spend<sup>a</sup> 3<sup>rd</sup> 20<sup>°</sup>C", "spend 3rd 20°C"),
        ("40 m<sup>2</sup> 3 ft<sup>3</sup> 2 × 10<sup>6</sup> CO<sub>2</sub>", "40 m2 3 ft3 2 × 10^6 CO2"),
        ("<!doctype html><?xml version='1.0' encoding='latin-1'?><html><meta charset=latin1><p>Zürich", "Zürich"),
        ("", ""),
        ("<input type=checkbox checked> done <input type=checkbox> open", "[x] done [ ] open"),
    ],
)
def test_a_page_is_what_its_reader_sees(page: str, text: str) -> None:
    assert visible_text(parse_html(page)) == text


@pytest.mark.parametrize("page", ["<" * 500_000, "<p hidden>x</p>y" * 150_000, "<p>a<!--" + "x" * 2_000_000])
@pytest.mark.timeout(20)
def test_hostile_pages_take_little_time(page: str) -> None:
    visible_text(parse_html(page))


def test_text_is_not_lost_in_silence_when_elements_are_nested_too_deeply() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_html("<div>" * 5000 + "lost")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(
            paragraph("a", run("b", '<w:rStyle w:val="Deeper"/>'), run("c", '<w:rStyle w:val="Shown"/>')),
            "ac",
            id="hidden by a style",
        ),
        pytest.param(paragraph("no", style="Secret") + paragraph("yes"), "yes", id="a hidden paragraph"),
        pytest.param(
            "<w:p><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>a+2</m:t></m:r></m:den></m:f>"
            "</m:oMath></w:p>",
            "1/(a+2)",
            id="a fraction is not one number",
        ),
        pytest.param(paragraph("12", run("3", '<w:vertAlign w:val="superscript"/>')), "12", id="raised mark"),
        pytest.param(
            '<w:p><w:r><w:t>a</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>',
            "a The note ↑",
            id="footnote",
        ),
    ],
)
def test_a_word_file_is_what_its_reader_sees(body: str, text: str) -> None:
    notes = f'<w:footnote w:id="2">{paragraph("The note")}</w:footnote>'
    html = word_to_html(word_file(body, styles=HIDDEN_STYLES, footnotes=notes))
    assert visible_text(parse_html(html)) == text


def test_word_tables_keep_their_spans_and_lose_deleted_rows() -> None:
    wide = f'<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>{paragraph("Spend")}'
    deleted = f"<w:tr><w:trPr><w:del/></w:trPr><w:tc>{paragraph('gone')}</w:tc></w:tr>"
    body = table([wide], ["1", "2"]).replace("</w:tbl>", deleted + "</w:tbl>")
    rows = parse_html(word_to_html(word_file(body))).findall(".//tr")
    assert [[(visible_text(cell), cell.get("colspan")) for cell in row] for row in rows] == [
        [("Spend", "2")],
        [("1", None), ("2", None)],
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04 cut", "not a zip file"),
        (word_file("]]]><"), "not allowed|not well-formed|StartTag"),
        (word_file("<w:p>" * 400 + "</w:p>" * 400), "depth"),
    ],
)
def test_a_damaged_word_file_raises(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        word_to_html(data)


def test_entities_are_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", "<!DOCTYPE w [<!ENTITY a 'b'>]><w><body>&a;</body></w>")
    with pytest.raises(ValueError, match="DOCTYPE"):
        word_to_html(buffer.getvalue())
