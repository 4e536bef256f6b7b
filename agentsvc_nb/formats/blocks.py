"""Texts cut where their blank lines and headings are: what agents quote, and what pages mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

BLOCK_LINES: Final = 12
HEADING = re.compile(r"(#{1,6})\s+(\S.*)")


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Runs of lines with nothing blank between them, with the number of their first line; headings stand alone."""
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
