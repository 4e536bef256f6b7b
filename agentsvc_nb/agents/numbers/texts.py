"""Find a number of the answer in the texts that the agent read, and in the user's messages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.agents.numbers.context import LocatedNumber
from agentsvc_nb.agents.numbers.reading import Number, blank_non_numbers, numbers
from agentsvc_nb.agents.numbers.tracing import Source
from agentsvc_nb.agents.numbers.words import STOP, stems
from agentsvc_nb.documents.texts import PAGE_END


@dataclass(frozen=True, slots=True)
class Quote:
    """A text that the agent read: the file at `path`, or the part of a call's result that is not a table."""

    name: str
    text: str
    path: str | None = None
    call_id: str | None = None
    computed: bool = False
    """True if a tool computed the text, so that it is not a quotation."""


_SAME_MAX: Final = 30
"""The maximum number of passages that are compared for one number, if more passages contain it."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n")
_PASSAGE_CHARS: Final = 400


class Passages:
    """Finds a number of the answer in the passages of the texts, and in the user's messages."""

    def __init__(self, question: str, quotes: Sequence[Quote]) -> None:
        self._given = [number for number in numbers(question, blank_non_numbers(question)) if not number.worded]
        self._passages: dict[float, list[tuple[Quote, Number, str]]] = defaultdict(list)
        for quote in quotes:
            blank = blank_non_numbers(quote.text)
            for number in numbers(quote.text, blank):
                if not number.worded and len(self._passages[number.value]) < _SAME_MAX:
                    self._passages[number.value].append((quote, number, _sentence(quote.text, number)))

    def find_quote(self, place: LocatedNumber) -> Source | None:
        """Return the passage with the number at `place` and the most words in common with its sentence, or None."""
        best: tuple[int, Quote, Number, str] | None = None
        for quote, number, sentence in self._passages.get(place.number.value, ()):
            words = stems(sentence) - STOP
            shared = len(words & place.near) + 2 * len(words & place.close)
            if shared and _same_unit(place.number, number) and (best is None or shared > best[0]):
                best = shared, quote, number, sentence
        if best is None or (best[0] < 3 and place.number.digits < 3):
            return None
        _, quote, number, sentence = best
        line = quote.text.count("\n", 0, number.start) + 1
        if quote.computed:
            text = f"From the result of {quote.name}, line {line}: {sentence}"
            return Source("traced", text, line=line, call_id=quote.call_id)
        paged = PAGE_END in quote.text
        where = f"page {quote.text.count(PAGE_END, 0, number.start) + 1}" if paged else f"line {line}"
        text = f"{quote.name}, {where}: {sentence}"
        return Source("quoted", text, path=quote.path, line=line, call_id=quote.call_id)

    def is_given(self, place: LocatedNumber) -> bool:
        """Return True if the user's messages contain this number."""
        return any(one.value == place.number.value and _same_unit(place.number, one) for one in self._given)


def _sentence(text: str, number: Number) -> str:
    low, high = max(0, number.start - _PASSAGE_CHARS), number.end + _PASSAGE_CHARS
    starts = [cut.end() for cut in _SENTENCE_END.finditer(text, low, number.start)]
    end = _SENTENCE_END.search(text, number.end, high)
    return " ".join(text[starts[-1] if starts else low : end.start() if end else high].split())


def _same_unit(number: Number, other: Number) -> bool:
    if number.kind != other.kind and ((number.kind and other.kind) or "percent" in (number.kind, other.kind)):
        return False
    if number.currency and other.currency and number.currency != other.currency:
        return False
    return not (number.measure and other.measure) or number.measure == other.measure
