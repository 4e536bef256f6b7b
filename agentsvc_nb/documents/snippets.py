"""Choose passages of a text around the matches of a search query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple
from unicodedata import category

from agentsvc_nb.documents.search_query import Check, Query, occurrences
from agentsvc_nb.documents.tokens import Folded, non_ascii_characters

Passage = list[tuple[str, bool]]
Span = tuple[int, int]
Finder = Callable[[str], Iterator[Span]]

WIDTH = 160
_LEAD = 40
"""The maximum number of characters in a passage before its first match."""
_SLACK = 24
"""The number of characters by which a passage's ends may move to avoid dividing a word (never in CJK text)."""
_HITS_MAX = 200
_HEAD_CHARS = 100_000

_CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
# Match all blanks except single spaces, because most blanks are single spaces, which stay unchanged.
_BLANKS = re.compile(rf" [\s{_CONTROL}]+|(?! )[\s{_CONTROL}]+")
# Direction marks. A passage that contains only one of a pair would reverse the text around it.
_UNSHOWN = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff]")


def snippets(query: Query, text: str, limit: int = 2, check: Check | None = None) -> list[Passage]:
    """Return up to `limit` passages of about 160 characters around the matches, in the order of the text.

    A passage is a list of parts, each a text and True if it is a match. Joined, the parts are the original text, with
    each run of blanks and control characters replaced by one blank. Passages do not overlap. Matches in the first
    100,000 characters are preferred. `check` is called regularly and may raise an error to stop the search, because a
    text of one long word takes a second for each phrase.
    """
    finders = [partial(occurrences, phrase, check=check) for group in query.groups for phrase in group]
    found: list[Passage] = []
    if len(text) > _HEAD_CHARS:
        found = _passages(text[: text.rfind(" ", 0, _HEAD_CHARS) + 1], finders, limit)
    return found if len(found) == limit else _passages(text, finders, limit)


class Hit(NamedTuple):
    """A match in the folded text. `finder` is the index of the function that found this match."""

    start: int
    end: int
    finder: int


def _passages(text: str, finders: Sequence[Finder], limit: int) -> list[Passage]:
    """Return up to `limit` passages with matches. Prefer passages with many different phrases.

    Each of the `finders` yields the matches of one phrase in a folded text.
    """
    kinds = non_ascii_characters(text)
    text = _one_line(text, kinds)
    folded = Folded(text, kinds)
    hits = _hits(folded.text, finders, limit)
    found: list[Passage] = []
    floor = 0
    for core in sorted(_best_starts(hits, limit)):
        near = _merge(folded.span(start, end) for start, end, _ in hits if abs(start - core) < 2 * WIDTH)
        first = folded.span(core, core + 1)[0]
        # The previous passage already contains this match: folding lengthens texts, so distances in the original are
        # shorter.
        if first < floor:
            continue
        begin, floor = _cut(text, first, floor)
        found.append(list(_split(text, near, begin, floor)))
    return found


def _hits(text: str, finders: Sequence[Finder], limit: int) -> list[Hit]:
    if len(finders) == 1:
        return list(_first_hits(finders[0](text), limit))
    return sorted(
        Hit(start, end, number) for number, find in enumerate(finders) for start, end in islice(find(text), _HITS_MAX)
    )


def _first_hits(spans: Iterator[Span], limit: int) -> Iterator[Hit]:
    """Yield the matches of a single phrase from the beginning of a text. Stop when they are enough for `limit`
    passages."""
    core, count = -WIDTH, 0
    for start, end in spans:
        if start >= core + WIDTH and count < limit:
            core, count = start, count + 1
        elif start >= core + 2 * WIDTH:
            return
        yield Hit(start, end, 0)


def _one_line(text: str, kinds: str) -> str:
    """Return the text on one line, without direction marks. `kinds` are its non-ASCII characters."""
    if _UNSHOWN.search(kinds):
        text = _UNSHOWN.sub("", text)
    if "  " in text or not text.isprintable():
        text = _BLANKS.sub(" ", text)
    return text.strip()


def _best_starts(hits: Sequence[Hit], limit: int) -> list[int]:
    """Return, for each of the best passages, the offset of its first match. Choose at most `limit` passages.

    The best passages are those with the most different phrases. Of equally good ones, the earliest are chosen.
    """
    rated = sorted((-_count_finders(hits, at), hit.start) for at, hit in enumerate(hits))
    chosen: list[int] = []
    for _, start in rated:
        if len(chosen) < limit and all(abs(start - other) >= WIDTH for other in chosen):
            chosen.append(start)
    return chosen


def _count_finders(hits: Sequence[Hit], at: int) -> int:
    """Count the different phrases in the passage whose first match is `hits[at]`."""
    numbers = {hits[at].finder}
    for later in range(at + 1, len(hits)):
        if hits[later].end > hits[at].start + WIDTH - _LEAD:
            break
        numbers.add(hits[later].finder)
    return len(numbers)


def _merge(spans: Iterator[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            start, end = merged[-1][0], max(merged.pop()[1], end)
        merged.append((start, end))
    return merged


def _cut(text: str, first: int, floor: int) -> Span:
    """Return the start (from `floor`) and end of the passage whose first match is at `first`. Avoid dividing words."""
    begin = max(floor, first - _LEAD)
    if begin > 0 and text[begin - 1] != " ":
        begin = text.find(" ", begin, min(begin + _SLACK, first)) + 1 or _after_marks(text, begin)
    end = begin + WIDTH
    if end >= len(text):
        return begin, len(text)
    blank = text.rfind(" ", max(end - _SLACK, first + 1), end + 1)
    return begin, blank if blank >= 0 else _after_marks(text, end)


def _after_marks(text: str, at: int) -> int:
    """Return `at`, moved past combining marks that belong to the letter before."""
    while at < len(text) and category(text[at])[0] == "M":
        at += 1
    return at


def _split(text: str, hits: Sequence[Span], begin: int, end: int) -> Iterator[tuple[str, bool]]:
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
