"""Convert an agent's Markdown to HTML. While it is streamed, find blocks that can no longer change ("settled")."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import MutableMapping, Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from agentsvc_nb.client.cards import LINE, SHORT_CHARS, TABLE, TABLE_END, THEAD, cell_style, wrap_style
from agentsvc_nb.client.cards import MUTED as MUTED
from agentsvc_nb.client.cards import SMALL as SMALL
from agentsvc_nb.documents import markdown
from agentsvc_nb.documents.markdown import SafeRenderer, find_unclosed_formula, linkable, mathematics, parser_with
from agentsvc_nb.documents.number_marks import list_sources
from agentsvc_nb.documents.table_edges import edge
from agentsvc_nb.notebook.display.code import highlight
from agentsvc_nb.wire.number_sources import summary
from agentsvc_nb.wire.runs import AnswerBasis, AnswerNumber
from agentsvc_nb.wire.text import worded

_LINE_END = re.compile(r"\r\n|\r|\n")


def settled_length(text: str) -> int:
    r"""Return how many characters at the beginning of `text` form settled blocks, which later text can't change.

    >>> settled_length("one\n\ntwo\n\nthr")
    5
    """
    ends = [match.end() for match in _LINE_END.finditer(text)]
    if ends and text.endswith("\r"):
        ends.pop()  # a \n may follow, which would belong to the same line end
    if not ends:
        return 0
    start = _last_block(text[: ends[-1]])
    return ends[start - 1] if start else 0


def _last_block(complete: str) -> int:
    """Return the number of the line on which the last top-level block begins."""
    tokens = _block_parser().parse(complete)
    starts = [token.map[0] for token in tokens if token.level == 0 and token.map]
    lines = _LINE_END.split(complete)[:-1]
    # An unclosed formula may still grow, so all lines after its beginning count as part of the last block.
    return max((start for start in starts if start <= find_unclosed_formula(lines)), default=0)


@functools.cache
def _block_parser() -> MarkdownIt:
    """Return a parser that finds only blocks. It takes a quarter of the time of a full parse."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").use(mathematics)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


CODE_CHARS: Final = 8_000
"""The maximum length of a code block that is highlighted. The notebook stores the highlighted HTML, which is much
longer.
"""
LINE_CHARS: Final = 400
"""The maximum length of a line that this package writes itself, such as a note."""
HEADER_CHARS: Final = 16
"""The maximum length of a column name that is kept on one line."""
LINK: Final = '<a style="text-decoration:underline" href="'
"""The beginning of a link. It is underlined, because JupyterLab marks links only by colour."""
WRAPPED: Final = "white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere"
"""The style of text that keeps its line breaks. Long lines are broken between words."""
PRE: Final = '<pre style="word-break:normal;overflow-wrap:anywhere">'
"""The beginning of a code block whose lines are broken between words. JupyterLab's default breaks within words."""
CHIPS: Final = '<ul class="asvc-chips" style="list-style:none;margin:6px 0;padding:0"'
CHIP: Final = (
    "display:inline-block;max-width:100%;margin:0 6px 6px 0;padding:1px 10px;font-size:92%;"
    f"border:{LINE};border-radius:12px;overflow-wrap:anywhere"
)
_TICK: Final = '<span style="font-size:0px">`</span>'
_NAME: Final = re.compile("`([^`]+)`")
_NUMBER: Final = "text-decoration:underline 1px;text-underline-offset:3px"
_MISSING: Final = "text-decoration:underline dotted 2px #767676;text-underline-offset:3px"
_ASK: Final = f"{CHIP};font-family:inherit;background:none"


def fold(summary: str, body: str, kind: str = "asvc-fold") -> str:
    """Return HTML in which a click on `summary` shows `body`. Both must be safe HTML."""
    head = f'<summary style="{SMALL};cursor:pointer">{summary}</summary>'
    return f'<details class="{kind}" style="margin:6px 0">{head}<div>{body}</div></details>\n'


class _NotebookRenderer(SafeRenderer):
    pre = PRE

    def paragraph_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Open a paragraph. If the first paragraph of an answer is entirely bold, it is shown as a headline."""
        said = [child.type for child in tokens[1].children or []] if idx == 0 and len(tokens) > 1 else []
        if said[:1] == ["strong_open"] and said.index("strong_close") == len(said) - 1:
            return '<p class="asvc-lead" style="font-size:110%;margin:4px 0 8px">'
        return self.renderToken(tokens, idx, options, env)

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return TABLE

    def table_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        return f"{TABLE_END}\n"

    def thead_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return THEAD

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        # JupyterLab's sanitiser removes <style>, and JupyterLab right-aligns table cells, so the alignment is an inline
        # style.
        wraps = ";white-space:nowrap" if len(tokens[idx + 1].content) <= HEADER_CHARS else ""
        return f'<th style="{cell_style(edge(tokens, idx))}{wraps}">'

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        said = tokens[idx + 1].content
        side = edge(tokens, idx)
        is_word = "-" in said and " " not in said  # a date or an id must not be broken at its hyphens
        wraps = f";{wrap_style(said)}" if len(said) > SHORT_CHARS or side == "right" or is_word else ""
        return f'<td style="{cell_style(side)}{wraps}">'

    def bullet_list_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Open a list. In an answer that suggests questions, a list of only code spans is shown as buttons."""
        if "suggests" in env:
            later = range(idx + 1, len(tokens))
            end = next(at for at in later if tokens[at].level == tokens[idx].level and tokens[at].nesting < 0)
            said = [token.children or [] for token in tokens[idx:end] if token.type == "inline"]
            env["chips"] = all([one.type for one in inside] == ["code_inline"] for inside in said)
        return f"{CHIPS}>" if env.get("chips") else self.renderToken(tokens, idx, options, env)

    def bullet_list_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        env["chips"] = False
        return self.renderToken(tokens, idx, options, env)

    def list_item_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        if env.get("chips"):
            return '<li style="display:inline">'
        return super().list_item_open(tokens, idx, options, env)

    def code_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        if env.get("chips"):
            # A click asks the question as it is written in the answer. The backticks around column names are hidden.
            shown = _NAME.sub(rf"{_TICK}<em>\1</em>{_TICK}", html.escape(tokens[idx].content))
            return f'<code class="asvc-ask" style="{_ASK}">{shown}</code>'
        return super().code_inline(tokens, idx, options, env)

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        shown = super().fence(tokens, idx, options, env)
        is_python = tokens[idx].info.split()[:1] in (["python"], ["py"], ["python3"], ["ipython"])
        return shown.replace("<pre", '<pre class="asvc-python"', 1) if is_python else shown

    def number(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        shown = super().number(tokens, idx, options, env)
        return shown.replace("<span", f'<span style="{_MISSING if "asvc-missing" in shown else _NUMBER}"', 1)

    def folded(self, summary: str, block: str) -> str:
        return fold(summary, block, "asvc-fold asvc-computed")


class _HighlightingRenderer(_NotebookRenderer):
    def code(self, code: str, language: str) -> str:
        return highlight(code, language) if len(code) <= CODE_CHARS else super().code(code, language)


@functools.cache
def parser(coloured: bool = True) -> MarkdownIt:
    """Return the parser for an agent's Markdown. It drops raw HTML."""
    return parser_with(_HighlightingRenderer if coloured else _NotebookRenderer)


def to_html(
    text: str,
    app_url: str = "",
    *,
    coloured: bool = True,
    suggests: bool = False,
    numbers: Sequence[AnswerNumber] = (),
) -> str:
    """Convert Markdown to safe HTML, with tables, links and code styled for notebooks.

    Pass `coloured=False` for text that is sent to the page repeatedly: highlighted code is about ten times as long.

    If `app_url` (the web page of the run) is given, the source of a quoted passage (`— file, line 12`) links to that
    line. With `suggests`, suggested questions become buttons. The `numbers` are underlined in the text.
    """
    known: dict[str, Any] = {"numbers": numbers}
    if linkable(app_url):
        known["text_page"] = f"{app_url.partition('?')[0]}/text?path="
    if suggests:
        known["suggests"] = "questions"
    shown = markdown.to_html(text, parser(coloured), ": read the whole text in the answer's .text", known)
    return shown.replace('<a href="', LINK)  # safe, because every < in the agent's text is already escaped


def line_html(line: str) -> str:
    """Return a line that this package wrote itself, as HTML in a small font. Text in backticks is shown as code."""
    return f'<div class="asvc-note" style="{SMALL}">{worded(line, LINE_CHARS)}</div>'


def numbers_html(basis: AnswerBasis | None) -> str:
    """Return a line such as `23 of 27 numbers traced`. A click on it shows where each number comes from.

    Return an empty text if the answer has no numbers. Keyboard users reach all sources by pressing Tab once.
    """
    line = summary(basis)
    return fold(line, list_sources(basis)) if basis and line else ""
