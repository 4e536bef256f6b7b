"""Passages of a text around what matches in it, to show with a search result (docs/api/files.md "Search")."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple
from unicodedata import category

from agentsvc_nb.formats.normalization import Folded

Passage = list[tuple[str, bool]]
Span = tuple[int, int]
Finder = Callable[[str], Iterator[Span]]

WIDTH = 160
_LEAD = 40
"""Characters of a passage before its first match."""
_SLACK = 24
"""How far a cut may move to fall between words. CJK text has no blanks, and is cut where it is."""
_HITS_MAX = 200

_CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
# All but the single spaces, which are most of them and stay as they are.
_BLANKS = re.compile(rf" [\s{_CONTROL}]+|(?! )[\s{_CONTROL}]+")
_ODD_BLANK = re.compile(rf"(?! )[\s{_CONTROL}]")
# Direction marks left unbalanced by the cut would turn the page around them.
_UNSHOWN = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff]")


class Hit(NamedTuple):
    """A match in the folded text, by the finder of that number."""

    start: int
    end: int
    finder: int


def passages(text: str, finders: Sequence[Finder], limit: int) -> list[Passage]:
    """Passages of `text` around what the finders find in the folded text; those with the most of them are preferred.

    See `search.snippets`.
    """
    kinds = "".join(set(text))  # which characters there are is seen sooner than where
    text = _tidied(text, kinds)
    folded = Folded(text, kinds)
    hits = _hits(folded.text, finders, limit)
    found: list[Passage] = []
    floor = 0
    for core in sorted(_cores(hits, limit)):
        near = _merged(folded.span(start, end) for start, end, _ in hits if abs(start - core) < 2 * WIDTH)
        first = folded.span(core, core + 1)[0]
        if first < floor:  # already shown: folding had made the text longer than it is
            continue
        begin, floor = _cut(text, first, floor)
        found.append(list(_parts(text, near, begin, floor)))
    return found


def _hits(text: str, finders: Sequence[Finder], limit: int) -> list[Hit]:
    if len(finders) == 1:
        return list(_earliest(finders[0](text), limit))
    return sorted(
        Hit(start, end, number) for number, find in enumerate(finders) for start, end in islice(find(text), _HITS_MAX)
    )


def _earliest(spans: Iterator[Span], limit: int) -> Iterator[Hit]:
    """Of one finder's hits those that `limit` passages can show: none is better than the first."""
    core, count = -WIDTH, 0
    for start, end in spans:
        if start >= core + WIDTH and count < limit:
            core, count = start, count + 1
        elif start >= core + 2 * WIDTH:
            return
        yield Hit(start, end, 0)


def _tidied(text: str, kinds: str) -> str:
    """Without direction marks, on one line; `kinds` are its characters, each once."""
    if _UNSHOWN.search(kinds):
        text = _UNSHOWN.sub("", text)
    if "  " in text or _ODD_BLANK.search(kinds):
        text = _BLANKS.sub(" ", text)
    return text.strip()


def _cores(hits: Sequence[Hit], limit: int) -> list[int]:
    """Where the best passages have their first hit: those with the most different finders, then the earliest."""
    rated = sorted((-_variety(hits, at), hit.start) for at, hit in enumerate(hits))
    chosen: list[int] = []
    for _, start in rated:
        if len(chosen) < limit and all(abs(start - other) >= WIDTH for other in chosen):
            chosen.append(start)
    return chosen


def _variety(hits: Sequence[Hit], at: int) -> int:
    """How many finders a passage shows that begins with the hit number `at`."""
    numbers = {hits[at].finder}
    for later in range(at + 1, len(hits)):
        if hits[later].end > hits[at].start + WIDTH - _LEAD:
            break
        numbers.add(hits[later].finder)
    return len(numbers)


def _merged(spans: Iterator[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            start, end = merged[-1][0], max(merged.pop()[1], end)
        merged.append((start, end))
    return merged


def _cut(text: str, first: int, floor: int) -> Span:
    """Begin and end of the passage whose first hit is at `first`: between words where a blank is near."""
    begin = max(floor, first - _LEAD)
    if begin > 0 and text[begin - 1] != " ":
        begin = text.find(" ", begin, min(begin + _SLACK, first)) + 1 or _whole(text, begin)
    end = begin + WIDTH
    if end >= len(text):
        return begin, len(text)
    blank = text.rfind(" ", max(end - _SLACK, first + 1), end + 1)
    return begin, blank if blank >= 0 else _whole(text, end)


def _whole(text: str, at: int) -> int:
    """`at`, or after the marks of the letter that a cut there would take them from."""
    while at < len(text) and category(text[at])[0] == "M":
        at += 1
    return at


def _parts(text: str, hits: Sequence[Span], begin: int, end: int) -> Iterator[tuple[str, bool]]:
    at = begin
    for start, stop in hits:
        start, stop = max(start, at), min(stop, end)
        if start < stop:
            if at < start:
                yield text[at:start], False
            yield text[start:stop], True
            at = stop
    if at < end:
        yield text[at:end], False
