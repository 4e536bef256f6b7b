"""Render an agent's Markdown as safe HTML.

A single dollar sign means money. Formulas begin with `$$` or with a backslash and a bracket, or are a `math` block.
"""

from __future__ import annotations

import functools
import html
import re
from bisect import bisect_left
from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from agentsvc_nb.documents import number_marks
from agentsvc_nb.documents.safe_text import FOLDED
from agentsvc_nb.wire.text import plain

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline

# MathJax finds formulas by these classes: version 3 (JupyterLab, Notebook, voila) by the first, version 2 (nbconvert)
# by the second.
MEANT: Final = "mathjax_process tex2jax_process"

FORMULAS: Final = 300
"""The maximum number of typeset formulas per text. Each takes milliseconds, so further ones are shown as written."""
_CHARS: Final = 4_000
_CLOSING: Final = {r"\(": r"\)", r"\[": r"\]", "$$": "$$"}
_BLOCKS: Final = ("$$", r"\[")
_SIGN: Final = re.compile(r"[\\^_=+*/<>{}|]|\w\s*[-(]\s*\w|\A\s*(?:\w|[\d.,]+)\s*\Z")
"""Signs of a formula between `$$` and `$$` that ordinary words do not have."""
_SURE: Final = re.compile(r"\\[A-Za-z]|[\^=]")
r"""Certain signs of a formula between `\[` and `\]`, which in Markdown may also be brackets around words."""
_STEERING: Final = re.compile(
    r"\\(?:href|url|html\w*|class|cssId|style|bbox|require|include\w*|unicode|mmlToken|newtheorem|let"
    r"|[egx]?def|\w*(?:newcommand|newenvironment|Declare\w+)|(?:renew|provide)\w+)(?![A-Za-z])"
)
"""Commands that do more than write a formula: they link, style, load, or redefine other formulas on a page."""


def mathematics(parser: MarkdownIt) -> None:
    """Add formulas to a Markdown parser (`parser.use(mathematics)`), as tokens `formula` and `formula_block`."""
    parser.inline.ruler.before("escape", "formula", _inline)
    parser.block.ruler.before("fence", "formula_block", _block, {"alt": ["paragraph", "blockquote", "list"]})


def formula(opening: str, written: str, tag: str, env: MutableMapping[str, Any]) -> str:
    """Return the HTML of a formula for MathJax if it is safe, else as written. `env` counts the formulas of a text."""
    env["formulas"] = env.get("formulas", 0) + 1
    meant = env["formulas"] <= FORMULAS and not _STEERING.search(written)
    kind = f' class="{MEANT}"' if meant else ""
    return f"<{tag}{kind}>{html.escape(f'{opening}{written}{_CLOSING[opening]}')}</{tag}>"


def _inline(state: StateInline, silent: bool) -> bool:
    """Parse a formula in a line of text.

    `$$5 and $$10` is not a formula: text with blanks at its ends is a formula only if it has signs of one (`_SIGN`).
    """
    found = _formula(state.src, state.pos, state.env)
    if found is None:
        return False
    opening, written = found
    if opening == r"\[" and not _SURE.search(written):
        return False
    if opening == "$$" and written != written.strip() and not _SIGN.search(written):
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.markup, token.content = opening, written
    state.pos += len(opening) + len(written) + len(_CLOSING[opening])
    return True


def _formula(text: str, at: int, env: MutableMapping[str, Any]) -> tuple[str, str] | None:
    """Return the opening mark at this place and the formula up to its closing mark.

    Return None without a closing mark, or if the formula would contain code or further dollar signs.
    """
    opening = text[at : at + 2]
    if opening not in _CLOSING:
        return None
    end = _closing(text, _CLOSING[opening], at + 2, env)
    written = text[at + 2 : end]
    if end < 0 or not written.strip() or "`" in written:
        return None
    if opening == "$$" and ("$" in text[at - 1 : at] + written.replace(r"\$", "") + text[end + 2 : end + 3]):
        return None
    return opening, written


def _closing(text: str, closing: str, begin: int, env: MutableMapping[str, Any]) -> int:
    """Return the place of the next closing mark, or -1 if there is none within `_CHARS`.

    `env` records where there is no mark, so that no text is searched repeatedly.
    """
    known, since, until = env.get(closing, ("", 0, 0))
    start = max(begin, until) if known is text and since <= begin else begin
    end = text.find(closing, start, begin + _CHARS)
    if end < 0:
        env[closing] = (text, begin, begin + _CHARS - len(closing) + 1)
    return end


def _block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Parse a formula on its own lines, so that they do not become lists or headings."""
    opening = state.src[(begin := state.bMarks[first] + state.tShift[first]) : begin + 2]
    if opening not in _BLOCKS or state.is_code_block(first):
        return False
    alone = not state.src[begin + 2 : state.eMarks[first]].strip()
    end = _last_line(state, _CLOSING[opening], first + alone)
    if end >= last or state.eMarks[end] - begin > _CHARS:
        return False
    if any(state.sCount[line] < state.blkIndent for line in range(first, end + 1)):
        return False
    text = state.getLines(first, end + 1, state.blkIndent, False).strip()
    found = _formula(text, 0, {})
    if found is None or len(found[1]) != len(text) - 4 or not _SIGN.search(found[1]):
        return False
    if not silent:
        token = state.push("formula_block", "", 0)
        token.markup, token.content, token.map = *found, [first, end + 1]
        state.line = end + 1
    return True


def is_blank(line: str) -> bool:
    """Return True if a line is blank, even in a quotation. A blank line ends any formula."""
    return not line.strip("> \t")


def unclosed(lines: Sequence[str]) -> int:
    """Return the index of the first line with which an unclosed formula may begin, or `len(lines)` if there is none."""
    first, closed = len(lines), set[str]()
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at].strip()
        if is_blank(line):
            break
        if line.endswith(("$$", r"\]")) and len(line) > 2:
            closed.add(line[-2:])
        if line[:2] in _BLOCKS and _CLOSING[line[:2]] not in closed:
            first = at
        closed |= {line} & {"$$", r"\]"}
    return first


def _last_line(state: StateBlock, closing: str, first: int) -> int:
    """Return the next line that ends with the closing mark, if no blank line precedes it, else the number of lines."""
    if "lines" not in state.env:
        lines = state.src.split("\n")
        ends = {mark: [at for at, line in enumerate(lines) if line.rstrip().endswith(mark)] for mark in ("$$", r"\]")}
        state.env["lines"] = ends | {"": [*(at for at, line in enumerate(lines) if is_blank(line)), len(lines)]}
    found: list[int] = state.env["lines"][closing]
    blank: list[int] = state.env["lines"][""]
    at = bisect_left(found, first)
    before = blank[min(bisect_left(blank, first), len(blank) - 1)]
    return found[at] if at < len(found) and found[at] < before else blank[-1]


_LINK = re.compile(r"(?:https?://|mailto:)[^\s\x00-\x20]+", re.IGNORECASE)

_BOXES: Final = {"[ ] ": "☐ ", "[x] ": "☑ "}

_PLACE = re.compile(r", (page \d+, line \d+|(?:line|row|page) \d+)")

HTML_CHARS: Final = 400_000
"""Only the beginning of a longer text is shown, because a browser is slow with very long pages."""
CELLS: Final = 50_000
"""Text with more table cells is shown as plain text.

Each row is filled up to the width of the table's head, so a few thousand `|` would become megabytes.
"""


def linkable(url: str) -> bool:
    return _LINK.fullmatch(url) is not None


class SafeRenderer(RendererHTML):
    """The CommonMark renderer without features that untrusted text must not use."""

    pre: ClassVar[str] = "<pre>"

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return anchor(str(tokens[idx].attrGet("href") or ""))

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        url = str(tokens[idx].attrGet("src") or "")
        text = self.renderInlineAsText(tokens[idx].children, options, env) or url
        return f"{anchor(url)}{html.escape(f'[image: {text}]')}</a>"

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        if tokens[idx].info.strip() == "math":
            return formula(r"\[", tokens[idx].content, "p", env) + "\n"
        # The info string would become a class name, with which untrusted text could use the page's style sheet.
        if tokens[idx].info.strip() == FOLDED:
            return self._computed(tokens[idx], options, env)
        language = tokens[idx].info.strip().partition(" ")[0]
        return f"{self.pre}<code>{self.code(tokens[idx].content, language)}</code></pre>\n"

    def _computed(self, token: Token, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """Return how a result was computed: the last line of its paragraph unfolds the rest and the SQL."""
        said = token.children or []
        split = max((at for at, child in enumerate(said) if child.type == "softbreak"), default=len(said))
        rows = self.renderInline(said[split + 1 :], options, env)
        read = self.renderInline(said[:split], options, env)
        body = (f"<p>{read}</p>" if read else "") + f"{self.pre}<code>{self.code(token.content, 'sql')}</code></pre>"
        return self.folded(f"How it was computed: {rows}" if rows else "How it was computed", body)

    def code(self, code: str, language: str) -> str:
        """Return the escaped code of a block. `language` is the language that the text claims."""
        return html.escape(code)

    def folded(self, summary: str, block: str) -> str:
        """Return HTML that is folded below a line. The line unfolds it."""
        return f"<details><summary>{summary}</summary>{block}</details>\n"

    def formula(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return formula(tokens[idx].markup, tokens[idx].content, "span", env)

    def formula_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        return formula(tokens[idx].markup, tokens[idx].content, "p", env) + "\n"

    def code_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        shown = f"<code>{html.escape(tokens[idx].content)}</code>"
        place = _place(tokens, idx) if "text_page" in env else None
        if place is None:
            return shown
        path, fragment = quote(tokens[idx].content, errors="replace"), place[1].replace(" ", "=").replace(",=", ",")
        return f"{_anchor(env['text_page'] + path + '#' + fragment)}{shown}</a>"

    def number(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return number_marks.mark(tokens[idx].meta["number"], tokens[idx].content)

    def list_item_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Return the start of a list item. In a task list, include the box that the text draws as `[ ]` or `[x]`."""
        inside = tokens[idx + 2] if len(tokens) > idx + 2 else tokens[idx]
        first = inside.children[0] if inside.type == "inline" and inside.children else None
        box = _BOXES.get(first.content[:4].lower(), "") if first is not None and first.type == "text" else ""
        if first is not None and box:
            first.content = first.content[4:]
        return f"<li>{box}"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        # Leave out the text's alignment, which would be a style attribute.
        return "<th>"

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return "<td>"


def anchor(url: str) -> str:
    """Return the opening tag of a link, without an address if the URL is not `linkable`."""
    return _anchor(url) if linkable(url) else "<a>"


def _anchor(url: str) -> str:
    return f'<a href="{html.escape(url, quote=True)}" rel="noopener noreferrer" target="_blank">'


def _place(tokens: Sequence[Token], idx: int) -> re.Match[str] | None:
    """Return the place of a quoted passage in its file, if this code span is the file's name in `— file, line 12`."""
    before, after = tokens[idx - 1 : idx], tokens[idx + 1 : idx + 5]  # a place has at most two numbers
    if not before or not after or not before[0].content.endswith("— "):
        return None
    return _PLACE.match("".join(token.content for token in after))


def parser_with(renderer: type[SafeRenderer]) -> MarkdownIt:
    """Return a parser for CommonMark with tables, strikethrough, formulas and marked numbers, without raw HTML."""
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=renderer)
    parser.core.ruler.after("inline", "computed", _take_details)
    return parser.enable(["table", "strikethrough"]).use(mathematics).use(number_marks.plugin)


def _take_details(state: StateCore) -> None:
    """Make the paragraph before a block of computed SQL a child of the block, so that both are folded."""
    kept: list[Token] = []
    for token in state.tokens:
        if token.type == "fence" and token.info.strip() == FOLDED and kept and kept[-1].type == "paragraph_close":
            token.children = kept[-2].children
            del kept[-3:]
        kept.append(token)
    state.tokens = kept


@functools.cache
def _parser() -> MarkdownIt:
    return parser_with(SafeRenderer)


def to_html(text: str, parser: MarkdownIt | None = None, rest: str = "", known: Mapping[str, Any] | None = None) -> str:
    """Return safe HTML of Markdown, for at most `HTML_CHARS` characters.

    `parser` comes from `parser_with`. `rest` is a sentence that says where to find the rest of a longer text.
    `known["text_page"]` is the address of the service's page for files, which ends with `?path=`. With it, the source
    of a quoted passage (`— file, line 12`) becomes a link. `known["numbers"]` are the numbers of an answer, which are
    marked with their sources.

    >>> to_html("<script>x</script> **b**")
    '<p>&lt;script&gt;x&lt;/script&gt; <strong>b</strong></p>\\n'
    """
    shown = plain(text[:HTML_CHARS])
    cut = f"<p><em>… shortened{html.escape(rest)}</em></p>" if len(text) > HTML_CHARS else ""
    if _cells(shown) > CELLS:
        return f"<pre>{html.escape(shown)}</pre>{cut}"
    # Entities such as &#x202e; become characters only while rendering, so strip again.
    env = dict(known or {})
    env["numbers"] = number_marks.find_numbers(text[:HTML_CHARS], env.get("numbers", ()))
    return plain((parser or _parser()).render(shown, env)) + cut


def _cells(text: str) -> int:
    """Return an upper limit of the number of table cells in a text."""
    cells = columns = 0
    for line in text.splitlines():
        if "-" in line and not line.strip("|-: \t>"):
            columns = line.count("|") + 1
        elif not line.strip():
            columns = 0
        cells += columns
    return cells
