"""Find a number in the texts that the agent read and in the user's message."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentsvc_nb.agents.numbers.cells import Source
from agentsvc_nb.agents.numbers.context import Place
from agentsvc_nb.agents.numbers.reading import Number, blanked, numbers
from agentsvc_nb.agents.numbers.words import STOP, stems
from agentsvc_nb.documents.texts import PAGE_END


@dataclass(frozen=True, slots=True)
class Quote:
    """A text that the agent read: the file at `path`, or a call's result that is not a table."""

    name: str
    text: str
    path: str | None = None
    call_id: str | None = None
    computed: bool = False
    """True if a tool computed the text, so that it is not a quotation."""


@dataclass(frozen=True, slots=True)
class _Passage:
    quote: Quote
    line: int
    text: str
    words: frozenset[str]
    number: Number
    close: frozenset[str] = field(default_factory=frozenset)


_RELATED_MAX = 6
_SAME_MAX = 30
"""The most passages with one number that are compared."""
_CLOSE_CHARS = 60
_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n")


class Passages:
    """All numbers of the texts by value."""

    def __init__(self, question: str, quotes: Sequence[Quote]) -> None:
        self.given = [number for number in numbers(question, blanked(question)) if not number.worded]
        self._passages: dict[float, list[_Passage]] = defaultdict(list)
        for quote in quotes:
            blank = blanked(quote.text)
            for number in numbers(quote.text, blank):
                if not number.worded and len(self._passages[number.value]) < _SAME_MAX:
                    self._add(quote, blank, number)

    def _add(self, quote: Quote, blank: str, number: Number) -> None:
        low = max(blank.rfind("\n", max(0, number.start - 400), number.start), number.start - 400, -1) + 1
        high = blank.find("\n", number.end, number.end + 400)
        high = min(number.end + 400, len(blank)) if high < 0 else high
        starts = [cut.end() for cut in _SENTENCES.finditer(blank, low, number.start)]
        ends = [cut.start() for cut in _SENTENCES.finditer(blank, number.end, high)]
        start, end = (starts or [low])[-1], (ends or [high])[0]
        close = stems(blank[max(start, number.start - _CLOSE_CHARS) : min(end, number.end + _CLOSE_CHARS)]) - STOP
        heading = blank[max(0, low - 120) : low]
        passage = _Passage(
            quote,
            quote.text.count("\n", 0, number.start) + 1,
            " ".join(quote.text[start:end].split()),
            (stems(blank[start:end]) | stems(heading)) - STOP,
            number,
            close,
        )
        self._passages[number.value].append(passage)

    def quoted(self, place: Place, *, exactly: bool) -> Source | None:
        """Return the passage with this number whose words fit its sentence best. `exactly` requires the same value."""
        number = place.number
        near = (place.near | place.topic) - STOP
        if exactly:
            found = self._passages.get(number.value, [])
        else:
            found = [
                one
                for value, each in self._passages.items()
                if number.fits(value) and number.digits > 1
                for one in each
            ]
        best: tuple[int, _Passage] | None = None
        for passage in found:
            if not _same_unit(number, passage.number):
                continue
            shared = (
                3 * len(passage.close & place.close - STOP)
                + 2 * len(passage.words & place.near)
                + len(passage.words & near)
            )
            if shared and (best is None or shared > best[0]):
                best = shared, passage
        if best is None or (best[0] < 3 and number.digits < 3):
            return None
        passage = best[1]
        quote, before = passage.quote, passage.quote.text[: passage.number.start]
        if quote.computed:
            text = f"From the result of {quote.name}, line {passage.line}: {passage.text}"
            return Source("traced", text, line=passage.line, call_id=quote.call_id)
        where = f"page {before.count(PAGE_END) + 1}" if PAGE_END in quote.text else f"line {passage.line}"
        text = f"{quote.name}, {where}: {passage.text}"
        return Source("quoted", text, path=quote.path, line=passage.line, call_id=quote.call_id)

    def related(self, place: Place) -> list[Number]:
        """Return numbers whose texts share words with this number's sentence, most words first."""
        near = place.near - STOP
        found = [
            (len(one.close & near), one.number) for each in self._passages.values() for one in each if one.close & near
        ]
        return [number for _, number in sorted(found, key=lambda one: -one[0])[:_RELATED_MAX]]

    def is_given(self, place: Place) -> bool:
        """Return True if the user's message has this number."""
        return any(one.value == place.number.value and _same_unit(place.number, one) for one in self.given)


def _same_unit(number: Number, other: Number) -> bool:
    if number.kind != other.kind and number.kind and other.kind:
        return False
    if (
        number.kind != other.kind
        and "points" not in (number.kind, other.kind)
        and "percent" in (number.kind, other.kind)
    ):
        return False
    if number.currency and other.currency and number.currency != other.currency:
        return False
    if number.measure and other.measure:
        return number.measure == other.measure
    return True
