"""Render an agent's Markdown as safe HTML.

Formulas begin with `$$`, `\\(` or `\\[`, or are a code block in the language `math`. A single dollar sign means money.
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

# MathJax typesets elements with these CSS classes: version 3 (JupyterLab, Notebook, voila) uses the first, version 2
# (nbconvert) the second.
MEANT: Final = "mathjax_process tex2jax_process"

FORMULAS: Final = 300
"""The maximum number of typeset formulas per text, because each takes milliseconds. Others are shown as source."""
_CHARS: Final = 4_000
_CLOSING: Final = {r"\(": r"\)", r"\[": r"\]", "$$": "$$"}
_BLOCKS: Final = ("$$", r"\[")
_SIGN: Final = re.compile(r"[\\^_=+*/<>{}|]|\w\s*[-(]\s*\w|\A\s*(?:\w|[\d.,]+)\s*\Z")
"""Matches text between `$$` and `$$` that is a formula rather than ordinary words."""
_SURE: Final = re.compile(r"\\[A-Za-z]|[\^=]")
r"""Matches text between `\[` and `\]` that is a formula. In Markdown, these marks may also be escaped brackets."""
_STEERING: Final = re.compile(
    r"\\(?:href|url|html\w*|class|cssId|style|bbox|require|include\w*|unicode|mmlToken|newtheorem|let"
    r"|[egx]?def|\w*(?:newcommand|newenvironment|Declare\w+)|(?:renew|provide)\w+)(?![A-Za-z])"
)
"""Matches TeX commands that are unsafe in untrusted text: they add links or styles, load code, or redefine commands."""


def mathematics(parser: MarkdownIt) -> None:
    """Make a Markdown parser turn formulas into tokens of type `formula` or `formula_block`.

    Call this as `parser.use(mathematics)`.
    """
    parser.inline.ruler.before("escape", "formula", _parse_inline)
    parser.block.ruler.before("fence", "formula_block", _parse_block, {"alt": ["paragraph", "blockquote", "list"]})


def formula(opening: str, written: str, tag: str, env: MutableMapping[str, Any]) -> str:
    """Return HTML that MathJax typesets, or that shows the formula's source.

    The source is shown if the formula is unsafe, or if the text has `FORMULAS` formulas before it (`env` counts them).
    """
    env["formulas"] = env.get("formulas", 0) + 1
    meant = env["formulas"] <= FORMULAS and not _STEERING.search(written)
    kind = f' class="{MEANT}"' if meant else ""
    return f"<{tag}{kind}>{html.escape(f'{opening}{written}{_CLOSING[opening]}')}</{tag}>"


def _parse_inline(state: StateInline, silent: bool) -> bool:
    """Parse a formula within a paragraph. Return True if there is one.

    The prices in `$$5 and $$10` are no formula. So if a blank follows the first `$$` or precedes the second one, the
    text between them must have a sign of mathematics such as `=`, or be a single letter or number.
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
    """Return the opening mark at index `at`, such as `$$`, and the formula up to its closing mark.

    Return None if there is no opening or closing mark, or if the formula would contain code or further dollar signs.
    """
    opening = text[at : at + 2]
    if opening not in _CLOSING:
        return None
    end = _find_closing(text, _CLOSING[opening], at + 2, env)
    written = text[at + 2 : end]
    if end < 0 or not written.strip() or "`" in written:
        return None
    if opening == "$$" and ("$" in text[at - 1 : at] + written.replace(r"\$", "") + text[end + 2 : end + 3]):
        return None
    return opening, written


def _find_closing(text: str, closing: str, begin: int, env: MutableMapping[str, Any]) -> int:
    """Return the index of the next closing mark, or -1 if there is none within `_CHARS` characters.

    `env` records which part of the text has no such mark, so that no part is searched twice.
    """
    known, since, until = env.get(closing, ("", 0, 0))
    start = max(begin, until) if known is text and since <= begin else begin
    end = text.find(closing, start, begin + _CHARS)
    if end < 0:
        env[closing] = (text, begin, begin + _CHARS - len(closing) + 1)
    return end


def _parse_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Parse a formula that has lines of its own. Return True if there is one.

    Its lines are then not read as lists or headings, even if they begin with `-` or `=`.
    """
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
    """Return True if a line has only blanks and `>` (the mark of block quotes). Such a line ends any formula."""
    return not line.strip("> \t")


def find_unclosed_formula(lines: Sequence[str]) -> int:
    """Return the index of the first line that may begin an unclosed formula, or `len(lines)` if there is none."""
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
    """Return the index of the next line that ends with the closing mark.

    Return the number of lines if there is none or if a blank line comes first.
    """
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
"""The maximum length of Markdown to render. The rest of a text is not shown: browsers are slow with long pages."""
CELLS: Final = 50_000
"""The maximum number of table cells. A text with more is shown as plain text.

The parser fills each row up to the number of columns, so a few thousand `|` could become megabytes of HTML.
"""


def linkable(url: str) -> bool:
    return _LINK.fullmatch(url) is not None


class SafeRenderer(RendererHTML):
    """Renders Markdown as HTML, without the features that untrusted text must not use."""

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
        # Do not use the block's info string as a CSS class, because untrusted text could then use the page's style
        # sheet.
        if tokens[idx].info.strip() == FOLDED:
            return self._render_computed(tokens[idx], options, env)
        language = tokens[idx].info.strip().partition(" ")[0]
        return f"{self.pre}<code>{self.code(tokens[idx].content, language)}</code></pre>\n"

    def _render_computed(self, token: Token, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """Return a folded block that shows how a result was computed. Its visible line is the last line of the
        paragraph; the rest of the paragraph and the SQL are folded."""
        said = token.children or []
        split = max((at for at, child in enumerate(said) if child.type == "softbreak"), default=len(said))
        rows = self.renderInline(said[split + 1 :], options, env)
        read = self.renderInline(said[:split], options, env)
        body = (f"<p>{read}</p>" if read else "") + f"{self.pre}<code>{self.code(token.content, 'sql')}</code></pre>"
        return self.folded(f"How it was computed: {rows}" if rows else "How it was computed", body)

    def code(self, code: str, language: str) -> str:
        """Return the HTML of a block's code. `language` is the language that the untrusted text declares."""
        return html.escape(code)

    def folded(self, summary: str, block: str) -> str:
        """Return `block` folded below the line `summary`. A click on the line unfolds the block."""
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
        place = _match_place(tokens, idx) if "text_page" in env else None
        if place is None:
            return shown
        path, fragment = quote(tokens[idx].content, errors="replace"), place[1].replace(" ", "=").replace(",=", ",")
        return f"{_anchor(env['text_page'] + path + '#' + fragment)}{shown}</a>"

    def number(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return number_marks.mark(tokens[idx].meta["number"], tokens[idx].content)

    def list_item_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Return the opening tag of a list item. In a task list, replace `[ ]` and `[x]` by a checkbox character."""
        inside = tokens[idx + 2] if len(tokens) > idx + 2 else tokens[idx]
        first = inside.children[0] if inside.type == "inline" and inside.children else None
        box = _BOXES.get(first.content[:4].lower(), "") if first is not None and first.type == "text" else ""
        if first is not None and box:
            first.content = first.content[4:]
        return f"<li>{box}"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        # Leave out the column's alignment, because it would be a style attribute.
        return "<th>"

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return "<td>"


def anchor(url: str) -> str:
    """Return the opening tag of a link. It has no address if the URL is not `linkable`."""
    return _anchor(url) if linkable(url) else "<a>"


def _anchor(url: str) -> str:
    return f'<a href="{html.escape(url, quote=True)}" rel="noopener noreferrer" target="_blank">'


def _match_place(tokens: Sequence[Token], idx: int) -> re.Match[str] | None:
    """Match the place, such as `, line 12`, that follows a code span with the name of a file.

    Return None unless the code span follows a dash (`— `), as in the source of a quotation.
    """
    before, after = tokens[idx - 1 : idx], tokens[idx + 1 : idx + 5]  # a place has at most two numbers, each a token
    if not before or not after or not before[0].content.endswith("— "):
        return None
    return _PLACE.match("".join(token.content for token in after))


def parser_with(renderer: type[SafeRenderer]) -> MarkdownIt:
    """Return a CommonMark parser that uses `renderer`.

    It recognises tables, strikethrough and formulas, marks the numbers of answers, and shows raw HTML as text.
    """
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=renderer)
    parser.core.ruler.after("inline", "computed", _take_details)
    return parser.enable(["table", "strikethrough"]).use(mathematics).use(number_marks.plugin)


def _take_details(state: StateCore) -> None:
    """Move the paragraph before a block of computed SQL into the block, so that both are folded together."""
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
    r"""Render at most `HTML_CHARS` characters of Markdown as safe HTML.

    Args:
        parser: A result of `parser_with`.
        rest: A sentence that says where to read the rest of a longer text.
        known: `text_page` is the address of the service's page for files, up to `?path=`. If it is given, the source of
            a quotation (`— file, line 12`) becomes a link. `numbers` are the numbers of an answer, which are marked
            with their sources.

    >>> to_html("<script>x</script> **b**")
    '<p>&lt;script&gt;x&lt;/script&gt; <strong>b</strong></p>\n'
    """
    shown = plain(text[:HTML_CHARS])
    cut = f"<p><em>… shortened{html.escape(rest)}</em></p>" if len(text) > HTML_CHARS else ""
    if _count_cells(shown) > CELLS:
        return f"<pre>{html.escape(shown)}</pre>{cut}"
    # Remove direction marks again, because the parser has turned entities such as &#x202e; into characters.
    env = dict(known or {})
    env["numbers"] = number_marks.find_numbers(text[:HTML_CHARS], env.get("numbers", ()))
    return plain((parser or _parser()).render(shown, env)) + cut


def _count_cells(text: str) -> int:
    """Return an upper bound for the number of table cells in a text."""
    cells = columns = 0
    for line in text.splitlines():
        if "-" in line and not line.strip("|-: \t>"):
            columns = line.count("|") + 1
        elif not line.strip():
            columns = 0
        cells += columns
    return cells
