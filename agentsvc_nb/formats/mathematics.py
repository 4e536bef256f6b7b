r"""Dollars are money, and mathematics is what is written as mathematics (docs/decisions/0027).

JupyterLab, Notebook and the pages of nbconvert typeset whatever stands between two dollars of an output.
`client.cards.untypeset` keeps them from what we show; `mathematics` has them typeset `\(...\)`, `\[...\]`, `$$...$$`
and fences that are called `math`.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

# MathJax 3 (JupyterLab, Notebook, voila) heeds the first, MathJax 2 (pages of nbconvert) the second.
MEANT: Final = "mathjax_process tex2jax_process"

FORMULAS: Final = 300
"""In one text; those after them are shown as they are written: a page is busy for some milliseconds with each."""
_CHARS: Final = 4_000
_CLOSING: Final = {r"\(": r"\)", r"\[": r"\]", "$$": "$$"}
_BLOCKS: Final = ("$$", r"\[")
_SIGN: Final = re.compile(r"[\\^_=+*/<>{}|]|\w\s*[-(]\s*\w|\A\s*(?:\w|[\d.,]+)\s*\Z")
"""What no words between `$$` and `$$` have."""
_SURE: Final = re.compile(r"\\[A-Za-z]|[\^=]")
r"""What is more than words in brackets: in Markdown, `\[` is a bracket, too."""
_STEERING: Final = re.compile(
    r"\\(?:href|url|html\w*|class|cssId|style|bbox|require|include\w*|unicode|mmlToken|newtheorem|let"
    r"|[egx]?def|\w*(?:newcommand|newenvironment|Declare\w+)|(?:renew|provide)\w+)(?![A-Za-z])"
)
"""What does more than write a formula: it links, styles, loads, or changes what other formulas of the page mean."""


def mathematics(parser: MarkdownIt) -> None:
    """Formulas for a parser of Markdown (`parser.use(mathematics)`), as tokens `formula` and `formula_block`."""
    parser.inline.ruler.before("escape", "formula", _inline)
    parser.block.ruler.before("fence", "formula_block", _block, {"alt": ["paragraph", "blockquote", "list"]})


def formula(opening: str, written: str, tag: str, env: MutableMapping[str, Any]) -> str:
    """The HTML of a formula, as it was written; `env` counts those of a text."""
    env["formulas"] = env.get("formulas", 0) + 1
    meant = env["formulas"] <= FORMULAS and not _STEERING.search(written)
    kind = f' class="{MEANT}"' if meant else ""
    return f"<{tag}{kind}>{html.escape(f'{opening}{written}{_CLOSING[opening]}')}</{tag}>"


def _inline(state: StateInline, silent: bool) -> bool:
    """A formula in a line of text. In `$$5 and $$10` is none: blanks at its ends need more than words between them."""
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
    """The opening at this place of a text and what stands up to its closing, if that is no code and no more dollars."""
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
    """Where it stands, -1 where it does not. It is remembered where there is none: no text is read again and again."""
    known, since, until = env.get(closing, ("", 0, 0))
    start = max(begin, until) if known is text and since <= begin else begin
    end = text.find(closing, start, begin + _CHARS)
    if end < 0:
        env[closing] = (text, begin, begin + _CHARS - len(closing) + 1)
    return end


def _block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A formula on lines of its own: what stands in it is no list and no heading."""
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
    """Whether a formula can't go on over this line, in a quotation or not."""
    return not line.strip("> \t")


def unclosed(lines: Sequence[str]) -> int:
    """The first line on which a formula may begin whose end is still to come; how many lines there are when none is."""
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
    """The next line that ends so, before one that is blank; the number of all lines where there is none."""
    if "lines" not in state.env:
        lines = state.src.split("\n")
        ends = {mark: [at for at, line in enumerate(lines) if line.rstrip().endswith(mark)] for mark in ("$$", r"\]")}
        state.env["lines"] = ends | {"": [*(at for at, line in enumerate(lines) if is_blank(line)), len(lines)]}
    found: list[int] = state.env["lines"][closing]
    blank: list[int] = state.env["lines"][""]
    at = bisect_left(found, first)
    before = blank[min(bisect_left(blank, first), len(blank) - 1)]
    return found[at] if at < len(found) and found[at] < before else blank[-1]
