"""Parse search queries of `GET /files/search` (docs/api/files.md "Search"), and match texts with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count
from typing import Final

from agentsvc_nb.documents.tokens import fold, grams, in_run, in_word, is_cjk, units, word_end
from agentsvc_nb.wire.limits import QUERY_MAX_WORDS

TOO_LONG: Final = f"The search takes too long. Search for fewer words (at most {QUERY_MAX_WORDS}), or rarer ones."
_QUOTES = str.maketrans(
    dict.fromkeys("“”„‟«»＂", '"')
)  # other quotation marks that keyboards and word processors produce
_TERM = re.compile(r'(?P<minus>-?)(?:"(?P<quoted>[^"]*)"?|(?P<word>[^\s"]+))')
_SCRATCH = frozenset({"tmp", "frames", "logs"})
_CHECKED = 1_000
"""The number of matches that `occurrences` tries between two calls of `check`. They take about a millisecond."""
Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A part of a query: words that must follow each other in a text, folded (`documents.tokens.units`).

    If `prefix` is True, the last word may be the beginning of a longer word. A run of CJK characters (Chinese,
    Japanese, Korean) is one unit. It is never a prefix, and matches anywhere in a longer run, because CJK text does not
    mark where words begin and end.
    """

    units: tuple[str, ...]
    prefix: bool = False

    @property
    def tokens(self) -> tuple[str, ...]:
        """Return the phrase's tokens, which must follow each other in the index.

        If the phrase ends with a CJK run such as `夏の`, leave out the last one of its tokens `夏の` and `の`. It would
        say that the run ends there, but in the text the run may be longer.
        """
        found = [gram for unit in self.units for gram in grams(unit)]
        return tuple(found[:-1] if is_cjk(self.units[-1]) and len(self.units[-1]) > 1 else found)

    @property
    def open(self) -> bool:
        """Return True if the last token may be only the beginning of a token in the index.

        This is the case for a prefix, and for a single CJK character, which may begin a pair.
        """
        last = self.units[-1]
        return len(last) == 1 if is_cjk(last) else self.prefix


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query. A text must match at least one phrase of each group, and must not match an exclusion."""

    groups: tuple[tuple[Phrase, ...], ...]
    exclusions: tuple[Phrase, ...] = ()

    @property
    def words(self) -> int:
        return sum(len(phrase.units) for phrase in chain(self.exclusions, *self.groups))


def parse(q: str) -> Query | None:
    """Parse a query. Return None if the query has only exclusions or no words. Any text is a valid query.

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
        if not phrase.units:  # the term has only punctuation
            continue
        if term["minus"]:
            exclusions.append(phrase)
        elif alternative:
            groups[-1].append(phrase)
        else:
            groups.append([phrase])
        alternative = False
    # Remove repeated phrases, so that each is searched once.
    wanted = dict.fromkeys(tuple(dict.fromkeys(group)) for group in groups)
    return Query(tuple(wanted), tuple(dict.fromkeys(exclusions))) if groups else None


def has_terms(query: Query, text: str) -> bool:
    """Return True if the text contains a phrase from every group of the query. Ignores exclusions."""
    folded = fold(text)
    return all(any(_has(phrase, folded) for phrase in group) for group in query.groups)


def is_excluded(query: Query, text: str) -> bool:
    """Return True if the text (a file's name or contents) contains an exclusion of the query."""
    folded = fold(text)
    return any(_has(phrase, folded) for phrase in query.exclusions)


def matches(query: Query, text: str) -> bool:
    """Return True if the text contains a phrase from every group of the query, and no exclusion."""
    return has_terms(query, text) and not is_excluded(query, text)


def is_scratch(path: str) -> bool:
    """Return True if a path is that of a temporary file. Lists show such files, but searches never find them
    (docs/api/files.md "Scratch").

    >>> is_scratch("video/frames/0001.png"), is_scratch(".cache/a.txt"), is_scratch("logs.txt")
    (True, True, False)
    """
    *folders, name = path.split("/")
    return name.startswith(".") or any(folder.startswith(".") or folder in _SCRATCH for folder in folders)


def _phrase(term: re.Match[str], end: int) -> Phrase:
    """Convert a term to a phrase. For example, `ad-copy` is a phrase of two words.

    `end` is the length of the query. Only the last word of the query can be a prefix.
    """
    if term["word"] is None:
        return Phrase(tuple(units(term["quoted"])))
    found = tuple(units(term["word"]))
    last = not term["minus"] and term.end() == end
    return Phrase(found, prefix=last and bool(found) and not is_cjk(found[-1]))


def occurrences(phrase: Phrase, folded: str, check: Check | None = None) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each match of a phrase in a folded text.

    If the phrase ends with a prefix, a match extends to the end of the word that begins with this prefix.
    """
    pattern = _pattern(phrase)
    end = 0
    for tried in count():
        if check and tried % _CHECKED == 0:
            check()
        found = pattern.search(folded, end)
        if not found:
            return
        start, end = found.span()
        if folded.isascii() or _is_whole(phrase, found):
            end = word_end(folded, end) if phrase.prefix else end
            yield start, end
        else:
            end = start + 1


@lru_cache(maxsize=1024)
def _pattern(phrase: Phrase) -> re.Pattern[str]:
    """Return a pattern that matches the units with only separators between them. In ASCII text it matches only whole
    words.

    For other text, `_is_whole` checks where words end, because a pattern with all letters would take milliseconds to
    compile.
    """
    parts = [f"({unit})" if is_cjk(unit) else f"({unit})(?![a-z0-9])" for unit in phrase.units]
    if phrase.prefix:
        parts[-1] = f"({phrase.units[-1]})"
    if not is_cjk(phrase.units[0]):
        # Put the check after the word: `re` is faster if a pattern begins with literal letters.
        parts[0] += f"(?<![a-z0-9]{phrase.units[0]})"
    return re.compile(r"[\W_]*+".join(parts))


def _is_whole(phrase: Phrase, found: re.Match[str]) -> bool:
    """Return True if the matched units are whole words or runs in the text.

    A CJK unit at the beginning or end of the match may be a part of a longer run. The last word may be the beginning of
    a longer word if it is a prefix.
    """
    text, start = found.string, found.start()
    if start and text[start - 1] >= "\x80" and not is_cjk(phrase.units[0]) and in_word(text, start - 1):
        return False
    open_end = phrase.prefix or is_cjk(phrase.units[-1])
    for number, unit in enumerate(phrase.units[:-1] if open_end else phrase.units, 1):
        end = found.end(number)
        if text[end : end + 1] >= "\x80" and (in_run if is_cjk(unit) else in_word)(text, end):
            return False
    return True


def _has(phrase: Phrase, folded: str) -> bool:
    return next(occurrences(phrase, folded), None) is not None
