"""Where Markdown may be cut: finished blocks freeze, only the open tail is rendered again (docs/decisions/0006).

A top-level block is finished when another one follows it on complete lines, and no formula may go on over both. Nothing
that comes later changes it but a link reference definition, and the final output, which renders the whole text at once,
puts even that right.
"""

from __future__ import annotations

import functools
import re

from markdown_it import MarkdownIt

from agentsvc_nb.safe.mathematics import mathematics, unclosed

_LINE_END = re.compile(r"\r\n|\r|\n")


def settled(text: str) -> int:
    r"""How many characters at the beginning of `text` are finished blocks.

    >>> settled("one\n\ntwo\n\nthr")
    5
    """
    ends = [match.end() for match in _LINE_END.finditer(text)]
    if ends and text.endswith("\r"):
        ends.pop()  # its \n may still come
    if not ends:
        return 0
    start = _last_block(text[: ends[-1]])
    return ends[start - 1] if start else 0


def _last_block(complete: str) -> int:
    """The line on which the last top-level block begins."""
    tokens = _block_parser().parse(complete)
    starts = [token.map[0] for token in tokens if token.level == 0 and token.map]
    lines = _LINE_END.split(complete)[:-1]
    # Where a formula may have begun, all from there on may be part of it.
    return max((start for start in starts if start <= unclosed(lines)), default=0)


@functools.cache
def _block_parser() -> MarkdownIt:
    """The block structure alone: a quarter of the time of a whole parse."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").use(mathematics)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
