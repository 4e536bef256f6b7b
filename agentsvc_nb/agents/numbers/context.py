"""Find the context of each number in a text: clause, sentence, and the names of rows to which it may belong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from agentsvc_nb.agents.numbers.evidence import Mention, Names, Values
from agentsvc_nb.agents.numbers.reading import Number, blanked, numbers, plain
from agentsvc_nb.agents.numbers.words import SCALES, STOP, WORD, stems, words

_CLAUSE: Final = re.compile(
    r"[,;:.()—–|\n]|\s-\s|\b(?:and|but|while|versus|vs|against|compared|then|followed|or|whereas|although|though|with)\b",
    re.IGNORECASE,
)
_PREPOSITION: Final = re.compile(r"\b(?:out of|of|from|in|on|at|to|for|per|by|than)\b", re.IGNORECASE)
_BELONGS: Final = re.compile(
    r"[\s*_)\0]*(?:[a-z%]+[\s*_\0]+){0,4}?(?:\(|in|from|for|of|on|by|at|to|among|with|via|went to|came from)[\s*_\0]*"
    r"(?:the\s+)?[\"'“*_\0]*",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(
    r"(?<!i\.e)(?<!e\.g)(?<!vs)(?<!ca)(?<!approx)(?<!\bno)[.!?][\"”)*\0]{0,4}\s+(?=[A-Z\"“*\[(\0\d$€£~])", re.IGNORECASE
)
_IN_STEP: Final = re.compile(
    r"[\s*\0]*(?:,|and|or|to|→|vs\.?|versus|against|compared (?:with|to)|up from|down from|,\s*and)[\s*\0]*",
    re.IGNORECASE,
)
_LISTS: Final = re.compile(r"[\s*\0]*(?:and|or|to|,|→|[-–/])[\s*\0]*", re.IGNORECASE)
_WHOLE: Final = re.compile(r"(?:\S+\s+){0,2}(?:out\s+)?of\s+(?:the\s+|all\s+)?[\s*\0]*", re.IGNORECASE)
_ITEM: Final = re.compile(r"[\s\0]*(?:[-*+•|]|[0-9]{1,3}[.)])")
_THOUSANDS: Final = re.compile(r"\bk[$€£]|[$€£]\s?k\b|\bk\b|thousand|000")
_MILLIONS: Final = re.compile(r"\bm[$€£]|[$€£]\s?m\b|million|\bmn\b|\bmio\b")
_NOTHING: Final[frozenset[str]] = frozenset()


@dataclass(slots=True, eq=False)
class Place:
    """A number with its context.

    Attributes:
        close: the words of its clause, or of its column's header.
        near: the words of its sentence, or of its row and header.
        topic: the words of the heading, the previous sentence and the question.
        rows: the keys of its rows in this sentence, by dimension.
        also: more keys near the number.
        carried: the keys that the text before the sentence names.
        said: all keys of the sentence in order.
        whole: it is the second number of `3 of 20`.
        cell: its (table, column) in a Markdown table of the answer.
    """

    number: Number
    sentence: int
    before: frozenset[str] = _NOTHING
    after: frozenset[str] = _NOTHING
    near: frozenset[str] = _NOTHING
    topic: frozenset[str] = _NOTHING
    rows: Values = field(default_factory=dict)
    also: Values = field(default_factory=dict)
    carried: Values = field(default_factory=dict)
    said: dict[str, list[frozenset[str]]] = field(default_factory=dict)
    cell: tuple[int, int] | None = None
    whole: bool = False
    beside: Sequence[Number] = ()
    inherited: frozenset[str] = _NOTHING

    @property
    def close(self) -> frozenset[str]:
        return self.before | self.after | self.inherited


@dataclass(slots=True)
class _Span:
    start: int
    end: int
    header: list[str] | None = None
    header_start: int = 0
    table: int = -1
    heading: bool = False
    blank: bool = False
    depth: int = 0


def places(text: str, question: str, names: Names) -> list[Place]:
    """Return the numbers of an answer with their context. Leave out numbers in names of rows."""
    bare, blank = plain(text), blanked(text)
    found = numbers(text, blank)
    asked = _single_values(names.mentions(question))
    asked_words = stems(question)
    section: Values = {}
    section_words = _NOTHING
    last: Values = {}
    previous = _NOTHING
    listed: list[Values] = []
    lead: dict[str, list[frozenset[str]]] = {}
    result: list[Place] = []
    at = 0
    index = 0
    for span in _spans(blank):
        inside = []
        while at < len(found) and found[at].start < span.end:
            inside.append(found[at])
            at += 1
        sentence = blank[span.start : span.end]
        if span.blank:
            if not _ITEM.match(blank, span.end):  # a list or table continues the subject of the text
                last, listed = {}, []
            continue
        index += 1
        mentions = names.mentions(bare[span.start : span.end], span.start)
        if span.header is not None:
            mentions = sorted([*mentions, *_numbered_rows(blank, span, names)], key=lambda mention: mention.start)
        inside = [one for one in inside if not any(m.start <= one.start and one.end <= m.end for m in mentions)]
        near = stems(sentence)
        topic = section_words | previous | asked_words
        carried = {**asked, **section, **last}
        made = [Place(number, index, near=near, topic=topic, carried=carried) for number in inside]
        for place in made:
            place.said, place.beside = _in_order(mentions), inside
            if span.header is not None:
                place.said = {**lead, **place.said}
        if span.header is not None:
            for place in made:
                _place_in_table(place, blank, span, mentions, names)
        else:
            _place_in_clauses(made, blank, span, mentions)
            _match_lists(made, blank, mentions, listed)
        result += made
        if span.heading:
            section, section_words, last = _merged(mentions), near, {}
        elif mentions and span.header is None:
            lead = _in_order(mentions)
            last = {**last, **_merged(mentions)}
            listed = [mention.values for mention in mentions]
        previous = near if span.header is None else previous
    return result


def _spans(blank: str) -> Iterator[_Span]:
    """Yield the sentences, table rows and headings of a text."""
    at, header, header_start, table = 0, None, 0, -1
    for line in blank.split("\n"):
        bare = line.strip()
        if bare.startswith("|"):
            if header is None:
                header, header_start, table = [cell.strip() for cell in bare.strip("|").split("|")], at, table + 1
                yield _Span(at, at + len(line))
            else:
                yield _Span(at, at + len(line), header, header_start, table)
        else:
            header = None
            start = at
            for end in _SENTENCE_END.finditer(line):
                yield _Span(start, at + end.end())
                start = at + end.end()
            words_only = bare.strip("*\0 :")
            heading = bare.startswith("#") or (
                bare.startswith("\0\0") and bare.rstrip(":").endswith("\0\0") and len(words_only) < 80
            )
            yield _Span(start, at + len(line), heading=heading, blank=not bare.strip("\0 -"))
        at += len(line) + 1


def _place_in_table(place: Place, blank: str, span: _Span, mentions: Sequence[Mention], names: Names) -> None:
    """Give a number in a Markdown table the words of its column's header and the names in its row."""
    assert span.header is not None
    column = blank.count("|", span.start, place.number.start) - 1
    header = span.header[column] if 0 <= column < len(span.header) else ""
    place.cell = (span.table, column)
    place.before = stems(header) | (frozenset("%") if "%" in header else _NOTHING)
    row_start = blank[span.start : place.number.start].rfind("|") + span.start
    place.after = stems(blank[row_start : place.number.start]) - STOP
    place.near |= place.before
    in_row = [mention for mention in mentions if blank.count("|", span.start, mention.start) - 1 != column] or list(
        mentions
    )
    place.rows = _merged(reversed(in_row))
    for dimension, keys in _merged(names.mentions(header)).items():
        place.rows.setdefault(dimension, keys)
    number, low = place.number, header.lower()
    if not number.kind and ("%" in low or "percent" in low):
        number.kind = "percent"
    elif not number.kind and re.search(r"\(pp\)|\bpp\b|points", low):
        number.kind = "points"
    elif not number.kind and any(sign in header for sign in "€$£"):
        number.kind, number.currency = (
            "money",
            {"€": "EUR", "$": "USD", "£": "GBP"}[next(sign for sign in header if sign in "€$£")],
        )
    scale = SCALES["k"] if _THOUSANDS.search(low) else SCALES["m"] if _MILLIONS.search(low) else 1.0
    if not number.scaled and scale != 1 and number.kind in ("", "money"):
        number.value, number.step, number.scaled = number.value * scale, number.step * scale, True


def _numbered_rows(blank: str, span: _Span, names: Names) -> list[Mention]:
    """Return names that a row's cells form with their headers, such as `Week` and `19`."""
    assert span.header is not None
    found, at = [], span.start
    for header, cell in zip(["", *span.header], blank[span.start : span.end].split("|"), strict=False):
        if header and cell.strip().isdigit():
            named = names.mentions(f"{header} {cell.strip()}")
            found += [
                Mention(at, at + len(cell), one.values)
                for one in named
                if one.end == len(header) + 1 + len(cell.strip())
            ]
        at += len(cell) + 1
    return found


def _place_in_clauses(made: Sequence[Place], blank: str, span: _Span, mentions: Sequence[Mention]) -> None:
    """Give each number of a sentence its clause's words, and the names before it or attached to it."""
    in_names = {position for mention in mentions for position in range(mention.start, mention.end)}
    for index, place in enumerate(made):
        number = place.number
        begin = made[index - 1].number.end if index else span.start
        end = made[index + 1].number.start if index + 1 < len(made) else span.end
        gap = blank[begin : number.start]
        cut = list(_CLAUSE.finditer(gap)) if index else []
        if index and not cut:
            cut = list(_PREPOSITION.finditer(gap))
        place.before = stems(gap[cut[0].start() :] if cut else gap)
        place.whole = index > 0 and bool(_WHOLE.fullmatch(gap.lstrip()))
        gap = blank[number.end : end]
        cut_after = _CLAUSE.search(gap) or (_PREPOSITION.search(gap) if index + 1 < len(made) else None)
        place.after = stems(gap[: cut_after.start()] if cut_after else gap)
        before = [mention for mention in mentions if mention.end <= number.start]
        chosen = _merged(before)
        for mention in mentions:
            if not number.end <= mention.start < end:
                continue
            between = blank[number.end : mention.start]
            if len(between.split()) < 4 and not _CLAUSE.search(between):
                place.also.update(mention.values)
            if len(between) < 80 and _BELONGS.fullmatch(between) and not re.search(r"[,;.]|\band\b|\bbut\b", between):
                for dimension, keys in mention.values.items():
                    if dimension not in place.rows:
                        place.rows[dimension] = keys
        place.rows = {**chosen, **place.rows}
        for dimension, said in place.said.items():
            if dimension not in place.rows and len(set(said)) == 1:
                (place.rows if dimension not in place.carried else place.also).setdefault(dimension, said[0])
        if index:
            own = _without_names(blank, begin, number.start, in_names) - STOP
            own |= (
                _without_names(blank, number.end, number.end + (cut_after.start() if cut_after else len(gap)), in_names)
                - STOP
            )
            earlier = made[index - 1]
            if not own and earlier.number.kind == number.kind:
                place.inherited = earlier.close
    for place, following in zip(reversed(made[:-1]), reversed(made[1:]), strict=True):
        gap = blank[place.number.end : following.number.start]
        if following.whole:
            place.inherited |= following.after
        if _LISTS.fullmatch(gap) and not place.close - STOP:
            place.inherited |= following.close


def _without_names(blank: str, start: int, end: int, in_names: set[int]) -> frozenset[str]:
    found = [token for token in WORD.finditer(blank, start, end) if token.start() not in in_names]
    return frozenset(word for token in found for word in words(token[0]))


def _match_lists(made: Sequence[Place], blank: str, mentions: Sequence[Mention], before: Sequence[Values]) -> None:
    """Give a list of k numbers the k names before it: `A, B and C had 1, 2 and 3`."""
    groups: list[list[Place]] = []
    for place in made:
        if groups and _IN_STEP.fullmatch(blank[groups[-1][-1].number.end : place.number.start]):
            groups[-1].append(place)
        else:
            groups.append([place])
    for group in groups:
        if len(group) < 2:
            continue
        named = [mention.values for mention in mentions if mention.end <= group[0].number.start] or list(before)
        for dimension in {dimension for values in named for dimension in values}:
            keys = list(dict.fromkeys(values[dimension] for values in named if dimension in values))
            if len(keys) == len(group):
                for place, key in zip(group, keys, strict=True):
                    place.rows = {**place.rows, dimension: key}


def _merged(mentions: Iterator[Mention] | Sequence[Mention]) -> Values:
    """Return the last keys of each dimension."""
    return {dimension: keys for mention in mentions for dimension, keys in mention.values.items()}


def _single_values(mentions: Sequence[Mention]) -> Values:
    """Return the keys of dimensions with only one name."""
    return {dimension: keys[0] for dimension, keys in _in_order(mentions).items() if len(set(keys)) == 1}


def _in_order(mentions: Sequence[Mention]) -> dict[str, list[frozenset[str]]]:
    found: dict[str, list[frozenset[str]]] = {}
    for mention in mentions:
        for dimension, keys in mention.values.items():
            if keys not in found.setdefault(dimension, []):
                found[dimension].append(keys)
    return found
