"""A question as words: numbers and dates read, quoted phrases kept whole, German compounds divided."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cache, lru_cache
from typing import Final

from agentsvc_nb.agents.offline.languages.german import GERMAN
from agentsvc_nb.agents.offline.languages.language import Vocabulary
from agentsvc_nb.documents.normalization import tokens

WORDS_MAX: Final = 60
_WRITTEN: Final = r"""(?x)
    "(?P<q1>[^"\n]+)" | “(?P<q2>[^”\n]+)” | „(?P<q3>[^“”\n]+)[“”] | «\s*(?P<q4>[^»\n]+?)\s*»
    | \b\d{1,3}0['’]?s\b
    | (?P<iso>\d{4}-\d\d-\d\d) | (?P<slashed>\d{1,2}/\d{1,2}/\d{2,4}) | (?P<dotted>\d{1,2}\.\d{1,2}\.(?:\d{4}|\d\d\b))
    | (?P<number>(?<![\w.])-?NUMBER)(?P<ordinal>(?i:st|nd|rd|th|er|ère|ere|e|º|ª))?(?![\w.,]\w)
    | != | <> | ≠ | [<>]=? | , (?=\s) | [≤≥=%€$£+&] | \# | (?<=\s)[/*×÷](?=\s)
    | \w+(?:['’./&-]\w+)*
    """
_WORD: Final = re.compile(_WRITTEN.replace("NUMBER", r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"))
_LOCAL_WORD: Final = re.compile(
    _WRITTEN.replace("NUMBER", r"(?:[1-9]\d{0,2}(?:[.’ \u00a0\u202f]\d{3})+(?!\d)|\d+)(?:,\d+|\.\d+)?")
)
_AMBIGUOUS: Final = re.compile(r"-?[1-9]\d{0,2}(,\d{3})+")
"""Of a language with decimal commas: some of its speakers mean thousands."""


_CASES: Final = ("n", "en", "e", "er", "es")
"""Endings of longer words, of which the first part alone tells them apart."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word, or a quoted phrase: as written, and folded tokens of it."""

    text: str
    tokens: tuple[str, ...]
    quoted: bool = False
    number: Decimal | None = None
    ordinal: bool = False
    day: date | None = None
    bracketed: bool = False
    """Whether it begins what stands in brackets."""


def words(text: str, local: bool = False) -> list[Word]:
    """`local`: numbers have decimal commas, and dates begin with the day."""
    return list(_words(text, local))[:WORDS_MAX]


def _words(text: str, local: bool) -> Iterator[Word]:
    for found in (_LOCAL_WORD if local else _WORD).finditer(text):
        quoted = next((found[name] for name in ("q1", "q2", "q3", "q4") if found[name]), None)
        if quoted:
            yield Word(quoted, tuple(tokens(quoted)), quoted=True)
        # `1,234` is 1.234 to one reader and 1234 to another: it is a word without a number, and so asked back.
        elif found["number"] and local and _AMBIGUOUS.fullmatch(found["number"]):
            yield Word(found[0], (found[0],))
        elif found["number"]:
            yield _number(found[0], _plain(found["number"], local), bool(found["ordinal"]))
        elif found["iso"] or found["slashed"] or found["dotted"]:
            yield _dated(found[0], local)
        else:
            first, *more = _parts(found[0])
            yield replace(first, bracketed=text[: found.start()].endswith("("))
            yield from more


def _parts(written: str) -> Iterator[Word]:
    """A word; a contraction or a compound gives its parts, as tables may have either."""
    folded = tuple(tokens(written))
    if len(folded) == 2 and folded[1] in ("s", "t", "re"):
        folded = (folded[0],) if folded[1] != "t" else (folded[0] + "t",)
    if not folded:
        yield Word(written, (written,))
    for part in folded:
        yield Word(written if len(folded) == 1 else part, (part,), number=Decimal(part) if part.isdecimal() else None)


def _plain(digits: str, local: bool) -> str:
    """Of a local number a point before three digits divides thousands."""
    if not local:
        return digits.replace(",", "")
    return re.sub(r"(?<=\d)[.’ \u00a0\u202f](?=\d{3}(?!\d))", "", digits).replace(",", ".")


def _number(written: str, plain: str, ordinal: bool) -> Word:
    return Word(
        written, tuple(tokens(written if ordinal else plain)) or (plain,), number=Decimal(plain), ordinal=ordinal
    )


def _dated(written: str, local: bool) -> Word:
    """Of an English date with slashes the month stands first, unless that is none."""
    parts = [int(part) for part in re.split(r"[-/.]", written)]
    if "-" in written:
        year, month, day = parts
    elif "/" in written and not local and parts[0] <= 12:
        month, day, year = parts
    else:
        day, month, year = parts
    year += 2000 if year < 70 else 1900 if year < 100 else 0
    try:
        return Word(written, (written,), day=date(year, month, day))
    except ValueError:
        return Word(written, (written,))


@lru_cache(20_000)
def forms(word: str) -> frozenset[str]:
    """A folded word and what it may be the plural or a case of; two words are alike if they have a form in common."""
    found = {word}
    if len(word) > 3:
        if word.endswith("ies"):
            found.add(word[:-3] + "y")
        if word.endswith("s") and not word.endswith("ss"):
            found.add(word[:-1])
        if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
            found.add(word[:-2])
        found |= {word[: -len(ending)] for ending in _CASES if word.endswith(ending) and len(word) > 5 + len(ending)}
    return frozenset(found)


@lru_cache(50_000)
def alike(one: str, other: str) -> bool:
    return one == other or not forms(one).isdisjoint(forms(other))


_VERB_LETTERS_MIN: Final = 5
_ROOT_LETTERS_MIN: Final = 4


def is_form_of_any(verb: str, header: Sequence[str]) -> bool:
    """Whether a verb is that of a noun, as `delivered` is of `Delivery date`."""
    if len(verb) < _VERB_LETTERS_MIN or not verb.endswith(("ed", "ing")):
        return False
    root = verb.removesuffix("ed").removesuffix("ing")
    roots = {root, root + "e"} | ({root[:-1]} if root[-1:] == root[-2:-1] else set())
    return any(word in roots or (len(root) > _ROOT_LETTERS_MIN and word.startswith(root)) for word in header)


def edits(one: str, other: str) -> int | None:
    """The letters by which two words differ; None if these are too many for a mistake in writing."""
    most = 1 if len(one) < 8 else 2
    if abs(len(one) - len(other)) > most or one[0] != other[0]:
        return None
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        last, before, row = before, row, [at]
        for place, there in enumerate(other, 1):
            step = min(before[place] + 1, row[-1] + 1, before[place - 1] + (letter != there))
            if at > 1 and place > 1 and letter == other[place - 2] and one[at - 2] == there:
                step = min(step, last[place - 2] + 1)
            row.append(step)
    return row[-1] if row[-1] <= most else None


_PART_MIN: Final = 3
_JOINTS: Final = ("", "s", "n", "en", "es", "e")
"""What may stand between two parts."""
_NAME_PARTS: Final = frozenset(("name", "nummer", "nr", "datum", "art", "typ", "code"))
_OPERATIONS: Final = frozenset(("op", "share", "count", "along", "difference", "ratio", "distinct", "sup"))


def parted(words: Sequence[Word], language: Vocabulary, stands: Callable[[str], bool]) -> list[Word]:
    """Words of a question; those that no table has (`stands`) in parts, what is computed first: `Umsatzanteil` is
    `Anteil Umsatz`."""
    return [part for word in words for part in _parted(word, language, stands)]


def _parted(word: Word, language: Vocabulary, stands: Callable[[str], bool]) -> Iterator[Word]:
    [written, *more] = word.tokens or ("",)
    if language.code != "de" or word.quoted or more or language.knows(written) or stands(written):
        yield word
        return
    parts = _divided(written)
    if len(parts) == 1:
        parts = _after_header(written, stands)
    if len(parts) == 1:
        yield word
        return
    # German puts the operation last, and the rules of all languages expect it first.
    if len(parts) == 2 and any(part in _OPERATIONS for part, _ in language.phrases.get((parts[1],), ())):
        parts = parts[::-1]
    for part in parts:
        for one in language.compounds.get(part, part).split():
            yield Word(one, (one,))


def opened(header: Sequence[str]) -> tuple[str, ...]:
    """The folded words of a header, compounds divided."""
    return tuple(part for word in header for part in ((word,) if GERMAN.knows(word) else _divided(word)))


@cache
def _divided(word: str) -> tuple[str, ...]:
    """The two parts of a word, the longest second one that is known; itself, if there are none."""
    for at in range(_PART_MIN, len(word) - _PART_MIN + 1):
        head, tail = word[:at], word[at:]
        if _is_second_part(tail) and (first := _first_part(head)):
            return (first, tail)
    return (word,)


def _after_header(word: str, stands: Callable[[str], bool]) -> tuple[str, ...]:
    """`Stornoquote`, where a header is `Storno`: a word of the table, and one that is known. Itself otherwise."""
    for at in range(_PART_MIN, len(word) - _PART_MIN + 1):
        nouns = [word[:at].removesuffix(joint) for joint in _JOINTS if word[:at].endswith(joint)]
        noun = next((one for one in nouns if len(one) > _PART_MIN and stands(one)), "")
        if noun and _is_second_part(word[at:]):
            return (noun, word[at:])
    return (word,)


def _is_second_part(word: str) -> bool:
    operations = {part for part, _ in GERMAN.phrases.get((word,), ())}
    return (word,) in GERMAN.nouns or word in _NAME_PARTS or not operations.isdisjoint(_OPERATIONS)


def _first_part(word: str) -> str:
    if word in GERMAN.compounds:
        return word
    for joint in _JOINTS:
        noun = word.removesuffix(joint)
        if word.endswith(joint) and len(noun) >= _PART_MIN and (noun,) in GERMAN.nouns:
            return noun
    return ""
