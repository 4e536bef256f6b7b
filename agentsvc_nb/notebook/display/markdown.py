"""Convert an agent's Markdown to HTML for a cell's output, and find its settled blocks while it streams."""

from __future__ import annotations

import functools
import re
from collections.abc import MutableMapping, Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from agentsvc_nb.formats import markdown
from agentsvc_nb.formats.markdown import SafeRenderer, linkable, mathematics, parser_with, unclosed

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


_CELL: Final = "text-align:left;padding:2px 10px"
MUTED: Final = "color:var(--jp-ui-font-color2,#767676)"
SMALL: Final = f"{MUTED};font-size:90%"
_LINK: Final = '<a style="text-decoration:underline" href="'
"""The start of a link, underlined: JupyterLab distinguishes links by their colour alone."""


class _Renderer(SafeRenderer):
    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        # JupyterLab right-aligns table cells, and its sanitiser drops <style>: hence the inline style.
        return f'<th style="{_CELL}">'

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return f'<td style="{_CELL}">'

    def folded(self, summary: str, block: str) -> str:
        return f'<details style="margin:0 0 1em"><summary style="{SMALL}">{summary}</summary>{block}</details>\n'


@functools.cache
def parser() -> MarkdownIt:
    """The parser of an agent's Markdown, without raw HTML."""
    return parser_with(_Renderer)


def to_html(text: str, app_url: str = "") -> str:
    """Convert Markdown to safe HTML, with tables and links styled for notebooks.

    With a run's `app_url`, the source of a quoted passage (`— file, line 12`) is a link to that line of the file.
    """
    known = {"text_page": f"{app_url.partition('?')[0]}/text?path="} if linkable(app_url) else {}
    shown = markdown.to_html(text, parser(), ": the whole text is in the answer's .text", known)
    return shown.replace('<a href="', _LINK)  # safe: in text of others every < is escaped
