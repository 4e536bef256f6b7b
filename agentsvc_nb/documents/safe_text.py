"""Escape untrusted text so that Markdown shows exactly that text, and split text at blank lines and headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

_ACTIVE = re.compile(r"[\\`*\[\]<~|]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])|!(?=\[)")
_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Matches characters that Markdown cannot represent: lone surrogates, and controls except tabs and line breaks."""
_SPACE = re.compile(r"[\t\n\r]|^\s|\s$")
"""Matches characters that would end the row of a table, and blanks that Markdown would strip from a cell."""
_MORE_THAN_WORDS: Final = re.compile(r"[\\^=]")
FOLDED: Final = "sql computed"
"""The info string of a code block with the SQL that computed a result. Pages show such blocks folded."""
_NO_CHARACTER: Final = "\ufffd"


def escape(line: str) -> str:
    """Return one line of Markdown that shows exactly this text.

    >>> escape("# 1 *star* in price_eur")
    '\\\\# 1 \\\\*star\\\\* in price_eur'
    """
    flat = " ".join(line.split())
    numbered = re.match(r"\d{1,9}(?=[.)](?:\s|$))", flat)
    escaped = _inert(flat)
    if numbered:
        return f"{numbered[0]}\\{escaped[numbered.end() :]}"
    return "\\" + escaped if re.match(r"[#>+=-]", flat) else escaped


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    r"""Return a Markdown table whose cells show exactly the given values, or "" without columns.

    >>> table(["a|b"], [["two\nlines"]])
    '| a\\|b |\n| --- |\n| two&#10;lines |\n'
    """
    if not head:
        return ""
    lines = [[_cell(cell) for cell in head], ["---"] * len(head), *([_cell(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(value: object) -> str:
    inert = _inert(_UNREADABLE.sub(_NO_CHARACTER, str(value)))
    return _SPACE.sub(lambda found: f"&#{ord(found[0])};", inert)


def _inert(text: str) -> str:
    # `\[` could begin a formula (documents/markdown.py). If the text contains more than words, use a character
    # reference.
    bracket = "&#91;" if _MORE_THAN_WORDS.search(text) else r"\["
    return _ACTIVE.sub(lambda found: bracket if found[0] == "[" else "\\" + found[0], text)


BLOCK_LINES: Final = 12
HEADING = re.compile(r"(#{1,6})\s+(\S.*)")


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the headings and paragraphs of a text, each with the number of its first line.

    A paragraph is a run of lines without a blank line. It is divided after every `BLOCK_LINES` lines.
    """
    held: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        alone = not line.strip() or HEADING.fullmatch(line.strip())
        if held and (alone or len(held) >= BLOCK_LINES):
            yield number - len(held), "\n".join(held)
            held = []
        if not alone:
            held.append(line.strip())
        elif line.strip():
            yield number, line.strip()
