"""The grammar of `GET /files/search` (docs/api/files.md "Search"): parsing a query, matching a text with it, and the
passages around the matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, count, islice
from typing import Final, NamedTuple
from unicodedata import category

from agentsvc_nb.documents import normalization
from agentsvc_nb.documents.normalization import Folded, fold, grams, is_cjk, tokens, units
from agentsvc_nb.wire.limits import QUERY_MAX_WORDS

Passage = list[tuple[str, bool]]
Span = tuple[int, int]
Finder = Callable[[str], Iterator[Span]]

WIDTH = 160
_LEAD = 40
"""Characters of a passage before its first match, at most."""
_SLACK = 24
"""Characters by which a cut may move to fall between words. CJK text has no blanks, so its cuts do not move."""
_HITS_MAX = 200

_CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
# Matches all blanks but single spaces: those are the most frequent, and stay as they are.
_BLANKS = re.compile(rf" [\s{_CONTROL}]+|(?! )[\s{_CONTROL}]+")
# Direction marks: unbalanced by a cut, they would reverse the text of the page around a passage.
_UNSHOWN = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff]")


class Hit(NamedTuple):
    """A match in the folded text; `finder` is the index of the finder that found it."""

    start: int
    end: int
    finder: int


def passages(text: str, finders: Sequence[Finder], limit: int) -> list[Passage]:
    """Passages of `text` around the matches that the finders find in the folded text; passages with matches of the most
    finders are preferred. See `snippets`.
    """
    kinds = normalization.kinds_beyond_ascii(text)
    text = _tidied(text, kinds)
    folded = Folded(text, kinds)
    hits = _hits(folded.text, finders, limit)
    found: list[Passage] = []
    floor = 0
    for core in sorted(_cores(hits, limit)):
        near = _merged(folded.span(start, end) for start, end, _ in hits if abs(start - core) < 2 * WIDTH)
        first = folded.span(core, core + 1)[0]
        if first < floor:  # already shown: where folding lengthens the text, distances in the original are shorter
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
    """The hits of a single finder that `limit` passages can show: its first passages are as good as any."""
    core, count = -WIDTH, 0
    for start, end in spans:
        if start >= core + WIDTH and count < limit:
            core, count = start, count + 1
        elif start >= core + 2 * WIDTH:
            return
        yield Hit(start, end, 0)


def _tidied(text: str, kinds: str) -> str:
    """The text on one line and without direction marks; `kinds` are its characters that are not ASCII."""
    if _UNSHOWN.search(kinds):
        text = _UNSHOWN.sub("", text)
    if "  " in text or not text.isprintable():
        text = _BLANKS.sub(" ", text)
    return text.strip()


def _cores(hits: Sequence[Hit], limit: int) -> list[int]:
    """Where the best passages have their first hit: passages with hits of the most finders, then the earliest."""
    rated = sorted((-_variety(hits, at), hit.start) for at, hit in enumerate(hits))
    chosen: list[int] = []
    for _, start in rated:
        if len(chosen) < limit and all(abs(start - other) >= WIDTH for other in chosen):
            chosen.append(start)
    return chosen


def _variety(hits: Sequence[Hit], at: int) -> int:
    """How many finders have a hit in the passage that begins with the hit at index `at`."""
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
    """Begin and end of the passage whose first hit is at `first`; cut between words where a blank is near. `floor` is
    the end of the passage before."""
    begin = max(floor, first - _LEAD)
    if begin > 0 and text[begin - 1] != " ":
        begin = text.find(" ", begin, min(begin + _SLACK, first)) + 1 or _whole(text, begin)
    end = begin + WIDTH
    if end >= len(text):
        return begin, len(text)
    blank = text.rfind(" ", max(end - _SLACK, first + 1), end + 1)
    return begin, blank if blank >= 0 else _whole(text, end)


def _whole(text: str, at: int) -> int:
    """`at`, moved behind combining marks that a cut there would separate from their letter."""
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


__all__ = [
    "TOO_LONG",
    "Phrase",
    "Query",
    "has_terms",
    "is_excluded",
    "is_scratch",
    "matches",
    "parse",
    "snippets",
    "tokens",
]

TOO_LONG: Final = f"The search takes too long: look for fewer words (at most {QUERY_MAX_WORDS}), or rarer ones."
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"'))  # what keyboards and word processors make of `"`
_TERM = re.compile(r'(?P<minus>-?)(?:"(?P<quoted>[^"]*)"?|(?P<word>[^\s"]+))')
_SCRATCH = frozenset({"tmp", "frames", "logs"})
_HEAD_CHARS = 100_000
_CHECKED = 1_000
"""`check` is called each time this many places in a text were tried: about every millisecond."""
Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Phrase:
    """Folded units (`normalization.units`) that must follow each other; with `prefix` the last word may be longer.

    CJK text does not mark where words begin and end, so a CJK unit is never a prefix: it matches anywhere in a run.
    """

    units: tuple[str, ...]
    prefix: bool = False

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens that the index must hold one after the other.

        A run of CJK characters at the end may go on in the text, so the token of its last character alone is left out.
        """
        found = [gram for unit in self.units for gram in grams(unit)]
        return tuple(found[:-1] if is_cjk(self.units[-1]) and len(self.units[-1]) > 1 else found)

    @property
    def open(self) -> bool:
        """Whether the last token is a prefix. A single CJK character always is one, as it may begin a pair."""
        last = self.units[-1]
        return len(last) == 1 if is_cjk(last) else self.prefix


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: of each group at least one phrase must match, and none of `exclusions` may."""

    groups: tuple[tuple[Phrase, ...], ...]
    exclusions: tuple[Phrase, ...] = ()

    @property
    def words(self) -> int:
        """The words of all its phrases."""
        return sum(len(phrase.units) for phrase in chain(self.exclusions, *self.groups))


def parse(q: str) -> Query | None:
    """The query in a text; None when it asks for nothing. Any text is a query: this never raises.

    >>> parse('summer or winter "ad copy" -draft sal').groups[1:]
    ((Phrase(units=('ad', 'copy'), prefix=False),), (Phrase(units=('sal',), prefix=True),))
    >>> parse("-only -exclusions") is None
    True
    """
    q = q.translate(_QUOTES)
    groups: list[list[Phrase]] = []
    exclusions: list[Phrase] = []
    alternative = False
    for term in _TERM.finditer(q):
        if term[0].lower() == "or":
            alternative = bool(groups)
            continue
        phrase = _phrase(term, len(q))
        if not phrase.units:  # nothing but punctuation
            continue
        if term["minus"]:
            exclusions.append(phrase)
        elif alternative:
            groups[-1].append(phrase)
        else:
            groups.append([phrase])
        alternative = False
    # Repeated phrases add nothing, and would be searched for again.
    wanted = dict.fromkeys(tuple(dict.fromkeys(group)) for group in groups)
    return Query(tuple(wanted), tuple(dict.fromkeys(exclusions))) if groups else None


def has_terms(query: Query, text: str) -> bool:
    """Whether every group of the query has a phrase in the text; exclusions are ignored."""
    folded = fold(text)
    return all(any(_has(phrase, folded) for phrase in group) for group in query.groups)


def is_excluded(query: Query, text: str) -> bool:
    """Whether the text holds one of the query's exclusions. A file is out when its name or its contents do."""
    folded = fold(text)
    return any(_has(phrase, folded) for phrase in query.exclusions)


def matches(query: Query, text: str) -> bool:
    """Whether one text by itself matches the query."""
    return has_terms(query, text) and not is_excluded(query, text)


def snippets(query: Query, text: str, limit: int = 2, check: Check | None = None) -> list[Passage]:
    """Up to `limit` passages of about 160 characters around the matches, in the order of the text.

    A passage is a list of parts (text, whether it is a match); joined, they are the original text with each run of
    blanks and control characters made one blank. Passages do not overlap. The first 100,000 characters are preferred.
    `check` is called regularly and stops the search by raising: a text of one long word takes a second for each phrase.
    """
    finders = [partial(_occurrences, phrase, check=check) for group in query.groups for phrase in group]
    found: list[Passage] = []
    if len(text) > _HEAD_CHARS:
        found = passages(text[: text.rfind(" ", 0, _HEAD_CHARS) + 1], finders, limit)
    return found if len(found) == limit else passages(text, finders, limit)


def is_scratch(path: str) -> bool:
    """Whether a workspace path is the service's scratch, listed but never found (docs/api/files.md "Scratch").

    >>> is_scratch("video/frames/0001.png"), is_scratch(".cache/a.txt"), is_scratch("logs.txt")
    (True, True, False)
    """
    *folders, name = path.split("/")
    return name.startswith(".") or any(folder.startswith(".") or folder in _SCRATCH for folder in folders)


def _phrase(term: re.Match[str], end: int) -> Phrase:
    """A term of the query as a phrase: `ad-copy` is a phrase of two words. `end` is the length of the query."""
    if term["word"] is None:
        return Phrase(tuple(units(term["quoted"])))
    found = tuple(units(term["word"]))
    last = not term["minus"] and term.end() == end
    return Phrase(found, prefix=last and bool(found) and not is_cjk(found[-1]))


def _occurrences(phrase: Phrase, folded: str, check: Check | None = None) -> Iterator[tuple[int, int]]:
    """The places of the phrase in a folded text; the place of a prefix includes the rest of its word."""
    pattern = _pattern(phrase)
    end = 0
    for tried in count():
        if check and tried % _CHECKED == 0:
            check()
        found = pattern.search(folded, end)
        if not found:
            return
        start, end = found.span()
        if folded.isascii() or _stands(phrase, found):
            end = normalization.word_end(folded, end) if phrase.prefix else end
            yield start, end
        else:
            end = start + 1


@lru_cache(maxsize=1024)
def _pattern(phrase: Phrase) -> re.Pattern[str]:
    """Matches the units with only separators between them, in an ASCII text only where they stand. In others `_stands`
    checks where they end: in the pattern, the large character classes of words would take milliseconds to compile."""
    parts = [f"({unit})" if is_cjk(unit) else f"({unit})(?![a-z0-9])" for unit in phrase.units]
    if phrase.prefix:
        parts[-1] = f"({phrase.units[-1]})"
    if not is_cjk(phrase.units[0]):
        # Looked at behind the word, because `re` jumps to a pattern's first letters only if it begins with them.
        parts[0] += f"(?<![a-z0-9]{phrase.units[0]})"
    return re.compile(r"[\W_]*+".join(parts))


def _stands(phrase: Phrase, found: re.Match[str]) -> bool:
    """Whether the units found are whole words or runs of the text. A CJK unit may begin within a run and, if it is the
    last, end within one; a last word that is a prefix may end within a word."""
    text, start = found.string, found.start()
    if start and text[start - 1] >= "\x80" and not is_cjk(phrase.units[0]) and normalization.in_word(text, start - 1):
        return False
    open_end = phrase.prefix or is_cjk(phrase.units[-1])
    for number, unit in enumerate(phrase.units[:-1] if open_end else phrase.units, 1):
        end = found.end(number)
        if text[end : end + 1] >= "\x80" and (normalization.in_run if is_cjk(unit) else normalization.in_word)(
            text, end
        ):
            return False
    return True


def _has(phrase: Phrase, folded: str) -> bool:
    return next(_occurrences(phrase, folded), None) is not None
