"""Find the context of each number in an answer: the words of its clause and sentence, and the rows of tables to which
the number may belong. Keys are the names of rows, and a dimension is the column that has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from agentsvc_nb.agents.numbers.reading import Number, blank_markdown, blank_non_numbers, numbers
from agentsvc_nb.agents.numbers.tables import Mention, Names, Values
from agentsvc_nb.agents.numbers.words import stems

_CLAUSE: Final = re.compile(
    r"[,;:.()—–|\n]|\s-\s|\b(?:and|but|while|versus|vs|against|compared|then|followed|or|whereas|although|though|with)\b",
    re.IGNORECASE,
)
_PREPOSITION: Final = re.compile(r"\b(?:out of|of|from|in|on|at|to|for|per|by|than)\b", re.IGNORECASE)
_BELONGS: Final = re.compile(
    r"[\s*_)\0]*(?:[a-z%]+[\s*_\0]+){0,4}?(?:\(|in|from|for|of|on|by|at|to|among|with|via)[\s*_\0]*(?:the\s+)?[\"'“*_\0]*",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(
    r"(?<!i\.e)(?<!e\.g)(?<!vs)(?<!ca)(?<!approx)(?<!\bno)[.!?][\"”)*\0]{0,4}\s+(?=[A-Z\"“*\[(\0\d$€£~])", re.IGNORECASE
)
_WHOLE: Final = re.compile(r"(?:\S+\s+){0,2}(?:out\s+)?of\s+(?:the\s+|all\s+)?[\s*\0]*", re.IGNORECASE)
_ITEM: Final = re.compile(r"[\s\0]*(?:[-*+•|]|[0-9]{1,3}[.)])")
_MONEY_HEADER: Final = re.compile(r"(?<!per )[€$£]")
_SCALED_HEADER: Final = re.compile(r"\b[km][€$£]|[€$£] ?[km]\b|thousand|million|000")
_NOTHING: Final[frozenset[str]] = frozenset()


@dataclass(slots=True, eq=False)
class LocatedNumber:
    """A number of the answer with its context.

    Attributes:
        sentence: the position of the number's sentence.
        close: the stems of the words in its clause. In a Markdown table, those of its column's header.
        near: the stems of the words in its sentence. In a Markdown table, those of its row and its column's header.
        rows: the keys in the sentence that probably name the number's rows, by dimension.
        carried: the keys that the text before the sentence names, by dimension.
        said: all keys that the sentence names, by dimension, in their order in the text.
        whole: True if it is the second number in a phrase such as `3 of 20`.
        cell: the index of its Markdown table in the answer and the index of its column, or None outside of tables.
    """

    number: Number
    sentence: int
    close: frozenset[str] = _NOTHING
    near: frozenset[str] = _NOTHING
    rows: Values = field(default_factory=dict)
    carried: Values = field(default_factory=dict)
    said: dict[str, list[frozenset[str]]] = field(default_factory=dict)
    cell: tuple[int, int] | None = None
    whole: bool = False


@dataclass(slots=True)
class _Span:
    start: int
    end: int
    header: list[str] | None = None
    table: int = -1
    heading: bool = False
    blank: bool = False


def locate_numbers(text: str, question: str, names: Names) -> list[LocatedNumber]:
    """Return the numbers of an answer with their context. Leave out numbers that are part of a row's name."""
    bare, blank = blank_markdown(text), blank_non_numbers(text)
    found = numbers(text, blank)
    asked = {
        dimension: keys[0] for dimension, keys in _keys_in_order(names.mentions(question)).items() if len(keys) == 1
    }
    section: Values = {}
    last: Values = {}
    result: list[LocatedNumber] = []
    at = 0
    for index, span in enumerate(_spans(blank)):
        inside = []
        while at < len(found) and found[at].start < span.end:
            inside.append(found[at])
            at += 1
        if span.blank:
            if not _ITEM.match(blank, span.end):  # a list or table has the same subject as the text before it
                last = {}
            continue
        mentions = names.mentions(bare[span.start : span.end], span.start)
        if span.header is not None:
            mentions = sorted([*mentions, *_short_names(blank, span, names)], key=lambda mention: mention.start)
        inside = [one for one in inside if not any(m.start <= one.start and one.end <= m.end for m in mentions)]
        near, said = stems(blank[span.start : span.end]), _keys_in_order(mentions)
        made = [
            LocatedNumber(number, index, near=near, carried={**asked, **section, **last}, said=said)
            for number in inside
        ]
        if span.header is not None:
            for place in made:
                _place_in_table(place, blank, span, mentions, names)
        else:
            _place_in_clauses(made, blank, span, mentions)
        result += made
        if span.heading:
            section, last = _last_keys(mentions), {}
        elif mentions and span.header is None:
            last = {**last, **_last_keys(mentions)}
    return result


def _spans(blank: str) -> Iterator[_Span]:
    """Yield the positions of the sentences, table rows and headings of a text."""
    at, header, table = 0, None, 0
    for line in blank.split("\n"):
        bare = line.strip()
        if bare.startswith("|") or " | " in bare:
            yield _Span(at, at + len(line), header, table)
            header = header or [cell.strip() for cell in bare.strip("|").split("|")]
        else:
            table += header is not None
            header = None
            start = at
            for end in _SENTENCE_END.finditer(line):
                yield _Span(start, at + end.end())
                start = at + end.end()
            bold = bare.startswith("\0\0") and bare.rstrip(":").endswith("\0\0") and len(bare) < 80
            blank_line = not bare.strip("\0 -")
            yield _Span(start, at + len(line), heading=bare.startswith("#") or bold, blank=blank_line)
        at += len(line) + 1


def _place_in_table(place: LocatedNumber, blank: str, span: _Span, mentions: Sequence[Mention], names: Names) -> None:
    """Set the context of a number in a Markdown table: the words of its column's header, and the keys in its row."""
    assert span.header is not None
    before_it = blank[span.start : place.number.start].lstrip()
    column = before_it.count("|") - before_it.startswith("|")
    header = span.header[column] if 0 <= column < len(span.header) else ""
    place.cell = (span.table, column)
    place.close = stems(header)
    place.near |= place.close
    place.rows = _last_keys(reversed(mentions))
    for dimension, keys in _last_keys(names.mentions(header)).items():
        place.rows.setdefault(dimension, keys)
    number, low = place.number, header.lower()
    if not number.kind and ("%" in low or "percent" in low):
        number.kind = "percent"
    elif not number.kind and (sign := _MONEY_HEADER.search(header)) and not _SCALED_HEADER.search(low):
        number.kind, number.currency = "money", {"€": "EUR", "$": "USD", "£": "GBP"}[sign[0]]


def _short_names(blank: str, span: _Span, names: Names) -> Iterator[Mention]:
    """Yield mentions of keys that consist of a header and a short cell: header `Week` and cell `19` name `Week 19`."""
    assert span.header is not None
    at = span.start
    line = blank[span.start : span.end]
    for header, cell in zip(["", *span.header] if line.startswith("|") else span.header, line.split("|"), strict=False):
        key = cell.strip()
        if header and (key.isdigit() or len(key) == 1):
            full = f"{header} {key}"
            yield from (Mention(at, at + len(cell), one.values) for one in names.mentions(full) if one.end == len(full))
        at += len(cell) + 1


def _place_in_clauses(made: Sequence[LocatedNumber], blank: str, span: _Span, mentions: Sequence[Mention]) -> None:
    """Set each number's context: the words of its clause, and the keys that precede the number or belong to it."""
    for index, place in enumerate(made):
        number = place.number
        begin = made[index - 1].number.end if index else span.start
        end = made[index + 1].number.start if index + 1 < len(made) else span.end
        gap = blank[begin : number.start]
        cut = (_CLAUSE.search(gap) or _PREPOSITION.search(gap)) if index else None
        behind = blank[number.end : end]
        cut_behind = _CLAUSE.search(behind) or (_PREPOSITION.search(behind) if index + 1 < len(made) else None)
        place.close = stems(gap[cut.start() :] if cut else gap)
        place.close |= stems(behind[: cut_behind.start()] if cut_behind else behind)
        place.whole = index > 0 and bool(_WHOLE.fullmatch(gap.lstrip()))
        place.rows = _last_keys(mention for mention in mentions if mention.end <= number.start)
        attached: Values = {}
        for mention in mentions:
            between = blank[number.end : mention.start] if number.end <= mention.start < end else ","
            if len(between) < 20 and len(between.split()) < 2 and not _CLAUSE.search(between):
                place.rows = {**mention.values, **place.rows}
            if len(between) < 80 and _BELONGS.fullmatch(between) and not re.search(r"\band\b|\bbut\b", between):
                attached = {**mention.values, **attached}
        place.rows |= attached


def _last_keys(mentions: Iterable[Mention]) -> Values:
    """Return, for each dimension, the keys of the last mention that names keys of this dimension."""
    return {dimension: keys for mention in mentions for dimension, keys in mention.values.items()}


def _keys_in_order(mentions: Sequence[Mention]) -> dict[str, list[frozenset[str]]]:
    found: dict[str, list[frozenset[str]]] = {}
    for mention in mentions:
        for dimension, keys in mention.values.items():
            if keys not in found.setdefault(dimension, []):
                found[dimension].append(keys)
    return found
