"""Foreign text in Markdown: whatever stands in a cell, the table that is read has this text in this cell."""

from __future__ import annotations

import re
from typing import Final

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from agentsvc_nb.documents import safe_text
from agentsvc_nb.documents.markdown import to_html

READER: Final = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HOSTILE: Final = (
    "a|b", "a\\|b", "\\", "a\\", "|", "||", "a\nb", "a\r\nb", "\n", " a ", "\ta", "\xa0", "<b>x</b>", "<!-- x -->",
    "&amp;", "&#124;", "&", "`a|b`", "``", "*a*", "__a__", "_a_", "~~a~~", "[a](http://b)", "![a](b)", "<http://a.b>",
    "# a", "---", ":-:", "- a", "1. a", "> a", "", "    code", "\u2028", "\x85", "\x0b", "a  \nb", "a\\\nb", "{}",
    "$x$", "http://a.b/c_d_e",
)  # fmt: skip
SIGNS: Final = "\\|`*_~<>&;#![]()\n\t ab1"
CELLS: Final = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30), st.text(SIGNS, max_size=12))


def read(text: str) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the one table that the text is, as a Markdown reader has them."""
    tokens = READER.parse(text)
    assert (tokens[0].type, tokens[-1].type) == ("table_open", "table_close"), "more, or less, than one table"
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(shown(token))
    return rows[0], rows[1:]


def shown(inline: Token) -> str:
    """The text of a cell, in which nothing but text may be."""
    children = inline.children or []
    assert {child.type for child in children} <= {"text", "text_special"}, children
    return "".join(child.content for child in children)


def seen(text: str) -> str:
    """What Markdown can hold of a text: no control characters but tabs and line breaks, no lone surrogates."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]", "\ufffd", text)


@settings(max_examples=40)
@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=4)))
@example([["a|b", "c"], ["d", "e\nf"], ["\\", "g"]])
@example([[one] for one in HOSTILE])
def test_each_cell_is_read_as_it_was(rows: list[list[str]]) -> None:
    head, *others = rows
    expected = [[seen(cell) for cell in row] for row in rows]
    assert read(safe_text.table(head, others)) == (expected[0], expected[1:])


@settings(max_examples=40)
@given(CELLS)
@example("[x=1]")  # no formula
@example("[\\A]")
def test_html_of_a_cell_is_its_text_alone(text: str) -> None:
    html = to_html(safe_text.table(["head"], [[text]]))
    inner = html.partition("<td>")[2].partition("</td>")[0]
    assert "<" not in inner
