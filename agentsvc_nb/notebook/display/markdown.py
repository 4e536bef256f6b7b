"""Convert an agent's Markdown to HTML for a cell's output, and find its settled blocks while it streams."""

from __future__ import annotations

import functools
import re
from collections.abc import MutableMapping, Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from agentsvc_nb.documents import markdown
from agentsvc_nb.documents.markdown import SafeRenderer, linkable, mathematics, parser_with, unclosed
from agentsvc_nb.documents.table_edges import edge
from agentsvc_nb.notebook.display.code import highlighted
from agentsvc_nb.wire.text import worded

_LINE_END = re.compile(r"\r\n|\r|\n")


def settled(text: str) -> int:
    r"""Return the length of the settled blocks at the beginning of `text`, in characters.

    >>> settled("one\n\ntwo\n\nthr")
    5
    """
    ends = [match.end() for match in _LINE_END.finditer(text)]
    if ends and text.endswith("\r"):
        ends.pop()  # the \n of a \r\n may still come
    if not ends:
        return 0
    start = _last_block(text[: ends[-1]])
    return ends[start - 1] if start else 0


def _last_block(complete: str) -> int:
    """The line on which the last top-level block begins."""
    tokens = _block_parser().parse(complete)
    starts = [token.map[0] for token in tokens if token.level == 0 and token.map]
    lines = _LINE_END.split(complete)[:-1]
    # From the line of an unclosed formula on, everything may still become part of it.
    return max((start for start in starts if start <= unclosed(lines)), default=0)


@functools.cache
def _block_parser() -> MarkdownIt:
    """A parser for the block structure only, which takes a quarter of the time of a whole parse."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").use(mathematics)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


SHORT_CHARS: Final = 28
"""A cell of at most this many characters is not wrapped: an id, a state, a price."""
_WRAPPED_EM: Final = (14, 22)
_LONG_CHARS: Final = 80


def wrapping(text: str) -> str:
    """How the text of a cell is wrapped: a longer one has a least width, so that no line has one word of it. Where the
    page is narrow, the table scrolls."""
    if len(text) <= SHORT_CHARS:
        return "white-space:nowrap"
    return f"min-width:{_WRAPPED_EM[len(text) > _LONG_CHARS]}em"


def cell_style(align: str) -> str:
    """The style of a cell of a table; digits stand below each other where they are right-aligned."""
    digits = ";font-variant-numeric:tabular-nums" if align == "right" else ""
    return f"text-align:{align};padding:2px 10px{digits}"


CODE_CHARS: Final = 8_000
"""A longer block of code is not coloured, as the notebook keeps its HTML."""
MUTED: Final = "color:var(--jp-ui-font-color2,#767676)"
SMALL: Final = f"{MUTED};font-size:90%;overflow-wrap:anywhere"
LINE_CHARS: Final = 400
"""Of a line of our own text."""
LINK: Final = '<a style="text-decoration:underline" href="'
"""The start of a link, underlined: JupyterLab distinguishes links by their colour alone."""


WRAPPED: Final = "white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere"
"""The style of text whose lines are kept, and broken between words where they are too long."""
PRE: Final = '<pre style="word-break:normal;overflow-wrap:anywhere">'
"""The start of a block of code, broken between words: JupyterLab breaks it within them."""


class _Renderer(SafeRenderer):
    pre = PRE

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        # JupyterLab right-aligns table cells, and its sanitiser drops <style>: hence the inline style.
        return f'<th style="{cell_style(edge(tokens, idx))}">'

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return f'<td style="{_td_style(tokens, idx)}">'

    def folded(self, summary: str, block: str) -> str:
        return f'<details style="margin:0 0 1em"><summary style="{SMALL}">{summary}</summary>{block}</details>\n'


def _td_style(tokens: Sequence[Token], idx: int) -> str:
    said = tokens[idx + 1].content
    return cell_style(edge(tokens, idx)) + (f";{wrapping(said)}" if len(said) > SHORT_CHARS else "")


class _ColouringRenderer(_Renderer):
    def code(self, code: str, language: str) -> str:
        return highlighted(code, language) if len(code) <= CODE_CHARS else super().code(code, language)


@functools.cache
def parser(coloured: bool = True) -> MarkdownIt:
    """The parser of an agent's Markdown, without raw HTML."""
    return parser_with(_ColouringRenderer if coloured else _Renderer)


def to_html(text: str, app_url: str = "", *, coloured: bool = True) -> str:
    """Convert Markdown to safe HTML, with tables, links and code styled for notebooks.

    Code is not `coloured` in a text that will be sent again and again, as it makes much HTML.

    With a run's `app_url`, the source of a quoted passage (`— file, line 12`) is a link to that line of the file.
    """
    known = {"text_page": f"{app_url.partition('?')[0]}/text?path="} if linkable(app_url) else {}
    shown = markdown.to_html(text, parser(coloured), ": the whole text is in the answer's .text", known)
    return shown.replace('<a href="', LINK)  # safe: in text of others every < is escaped


def line_html(line: str) -> str:
    """Return a line of our own text, with code in backticks, as small HTML."""
    return f'<div style="{SMALL}">{worded(line, LINE_CHARS)}</div>'
