"""Markdown of the offline agent: what was read stays text, whatever it contains."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from agentsvc_nb.safe.literal import escape

WRAPPED_CHARS: Final = 60


def code(text: str) -> str:
    """Text as a code span, fenced by more backticks than it holds.

    >>> code("sum(price)")
    '`sum(price)`'
    """
    flat = " ".join(text.split()) or " "
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", flat)), default=0))
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def quote(text: str, source: str) -> str:
    """A blockquote followed by where it comes from; lines of the text stay lines, but for those of wrapped prose."""
    kept = [line.strip() for line in text.splitlines() if line.strip()]
    breaks = ["\n> " if _goes_on(line, after) else "\\\n> " for line, after in pairwise(kept)]
    body = "".join(escape(line) + end for line, end in zip(kept, [*breaks, ""], strict=True))
    return f"> {body}\n\n— {source}\n\n"


def _goes_on(line: str, after: str) -> bool:
    """Whether a long line was wrapped in the middle of its paragraph."""
    return len(line) >= WRAPPED_CHARS and after[0].isalnum() and not after[0].isdigit()
