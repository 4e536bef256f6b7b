"""Mark the numbers of an agent's answer in its Markdown, and list their sources: where the numbers come from."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt
from markdown_it.rules_inline.text import text as parse_words

from agentsvc_nb.wire.limits import BASIS_NUMBER_CHARS
from agentsvc_nb.wire.number_sources import describe
from agentsvc_nb.wire.runs import AnswerBasis, AnswerNumber
from agentsvc_nb.wire.text import escape, label, plain, worded

if TYPE_CHECKING:
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline

_MARKUP: Final = re.compile(r"[*`\[\]<>&\\|~\n]")
"""Characters with a meaning in Markdown. A number that contains such a character is not marked."""
_SOURCE_CHARS: Final = 700


def find_numbers(text: str, numbers: Iterable[AnswerNumber]) -> list[AnswerNumber]:
    """Return the numbers that can be marked in `text`, in order, with their offsets in `plain(text)`."""
    found: list[AnswerNumber] = []
    shown = plain(text)
    read = at = 0
    for number in sorted(numbers, key=_start):
        written = text[number.start : number.end]
        is_there = number.start >= read and written and label(written, BASIS_NUMBER_CHARS) == number.text
        if not is_there or _MARKUP.search(written) or not describe(number):
            continue
        start = at + len(plain(text[read : number.start]))
        if shown.startswith(written, start):
            at, read = start + len(written), number.end
            found.append(number.model_copy(update={"start": start, "end": at}))
    return found


def plugin(parser: MarkdownIt) -> None:
    """Make a Markdown parser turn the numbers in `env["numbers"]` (from `find_numbers`) into tokens of type `number`.

    Each token has its number in `meta["number"]`. Numbers in code, formulas and addresses are not marked, because other
    parser rules read these.
    """
    parser.core.ruler.at("inline", _parse_blocks)
    parser.inline.ruler.at("text", _parse_text)


def _parse_blocks(state: StateCore) -> None:
    """Parse the inline content of each block as markdown-it's own rule does, but first find the numbers in that
    content.

    Numbers have offsets in the whole text, which inline rules do not know. So find where the content is in the text: in
    a paragraph or heading, at the end of its lines; in a table cell, after the previous cell.
    """
    numbers: Sequence[AnswerNumber] = state.env.get("numbers", ())
    lines = [*accumulate((len(line) + 1 for line in state.src.split("\n")), initial=0)] if numbers else []
    row_read = 0
    for index, token in enumerate(state.tokens):
        if token.type != "inline":
            continue
        inside: list[AnswerNumber] = []
        offset = 0
        for row, line in enumerate(token.content.split("\n"), token.map[0]) if numbers and token.map else ():
            words = line.strip()
            if state.tokens[index - 1].type in ("th_open", "td_open"):
                found = state.src.find(words, max(row_read, lines[row]), lines[row + 1])
                row_read = lines[row + 1] if found < 0 else found + len(words)
            else:
                found = state.src.rfind(words, lines[row], lines[row + 1])
            first, last = (bisect_left(numbers, end, key=_start) for end in (found, found + len(words)))
            for number in numbers[first:last] if found >= 0 else ():
                shift = offset + line.index(words) - found
                start = number.start + shift
                # In `\$5`, the backslash belongs to the dollar sign, so the mark begins at the digit.
                start += token.content[start - 1 : start] == "\\" and not token.content[start].isalnum()
                inside.append(number.model_copy(update={"start": start, "end": number.end + shift}))
            offset += len(line) + 1
        state.env["inline_numbers"] = token.content, inside
        token.children = token.children or []
        state.md.inline.parse(token.content, state.md, state.env, token.children)


def _start(number: AnswerNumber) -> int:
    return number.start


def _parse_text(state: StateInline, silent: bool) -> bool:
    """Parse a number if it begins here, else the text up to the next number. Return False if neither is possible."""
    content, inside = state.env.get("inline_numbers", ("", []))
    begin, at = state.pos, bisect_left(inside, state.pos, key=_start)
    # Skip the description of a picture, because it is parsed separately, with other offsets.
    if state.src != content or at == len(inside):
        return parse_words(state, silent)
    if inside[at].start == begin:
        state.pos = inside[at].end
        if not silent:
            token = state.push("number", "", 0)
            token.content, token.meta = content[begin : state.pos], {"number": inside[at]}
        return True
    if not parse_words(state, True):
        return False
    state.pos = min(state.pos, inside[at].start)
    if not silent:
        state.pending += content[begin : state.pos]
    return True


def mark(number: AnswerNumber, written: str) -> str:
    """Return the HTML of a number. Its tooltip is its source. A click shows the tooltip
    (labextension/static/answer.css).

    For keyboard users, `list_sources` shows the sources instead: an answer may have dozens of numbers, which would all
    be tab stops.
    """
    look = "asvc-number asvc-missing" if number.status == "not_found" else "asvc-number"
    source = escape(describe(number).replace("`", ""), _SOURCE_CHARS)
    return f'<span class="{look}" tabindex="-1" title="{source}">{html.escape(written)}</span>'


def list_sources(basis: AnswerBasis) -> str:
    """Return the numbers of an answer with their sources as an HTML list. Equal entries appear once."""
    rows = dict.fromkeys((escape(number.text), worded(describe(number), _SOURCE_CHARS)) for number in basis.numbers)
    lines = "".join(f"<li><strong>{text}</strong> <span>{source}</span></li>" for text, source in rows if source)
    rest = sum(basis.number_counts.values()) - len(basis.numbers)
    return f'<ul class="asvc-sources">{lines}{f"<li>… and {rest:,} more</li>" if rest > 0 else ""}</ul>'
