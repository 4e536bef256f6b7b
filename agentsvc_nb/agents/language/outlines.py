"""The outline of a long text for a model: its size, pages, headings and beginning."""

from __future__ import annotations

import re
from typing import Final

from agentsvc_nb.agents.language.tokens import TokenCounter
from agentsvc_nb.documents.texts import PAGE_END

PLACES_TOLD: Final = 40
"""Headings or pages that are named."""
HEADING_CHARS: Final = 80
_HEADING: Final = re.compile(r"^(#{1,6}) +(\S.*)$", re.MULTILINE)


def outline(text: str, most: int, tokens: TokenCounter) -> str:
    """Return the size of a text, where its headings and pages begin, and its beginning, in about `most` tokens."""
    pages = _pages(text)
    size = f"{len(text):,} characters, {len(text.splitlines()):,} lines" + (f", {len(pages):,} pages" if pages else "")
    told = f"{size}. Only its beginning is here: read_file reads on from any character, search_files finds words."
    if places := _headings(text) or _evenly(pages):
        named = "\n".join(f"- {at}: {what}" for at, what in places)
        told += f"\nIt has, each by the character at which it begins:\n{tokens.shorten(named, most // 2)}"
    head = text[: _fitting(text, most - tokens.text(told), tokens)]
    return f"{told}\nIts beginning:\n{head.rstrip()}" if head else told


def _headings(text: str) -> list[tuple[int, str]]:
    """Headings by where they begin; of many those of the upper levels, and of many of one level the first."""
    found = [(match.start(), len(match[1]), match[2][:HEADING_CHARS].rstrip()) for match in _HEADING.finditer(text)]
    for deepest in range(6, 0, -1):
        upper = [(at, f"{'#' * level} {title}") for at, level, title in found if level <= deepest]
        if upper and (len(upper) <= PLACES_TOLD or not any(level < deepest for _, level, _ in found)):
            return upper[:PLACES_TOLD]
    return []


def _pages(text: str) -> list[tuple[int, str]]:
    ends = [match.end() for match in re.finditer(PAGE_END, text)]
    return [(at, f"page {number}") for number, at in enumerate([0, *ends[:-1]], 1)] if ends else []


def _evenly(places: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return places[:: -(-len(places) // PLACES_TOLD) or 1]


def _fitting(text: str, most: int, tokens: TokenCounter) -> int:
    """Return how many of the first characters take `most` tokens."""
    chars = min(len(text), max(most, 0) * 8)
    while chars and tokens.text(text[:chars]) > most:
        chars = chars * 3 // 4
    return chars
