"""Parse a question about one table into a calculation, or refuse the question with a reason.

The parser has four stages:

1. `linking` finds fragments: words of the question with a meaning that they may have. An unlikely meaning has a price.
2. `chart` combines neighbouring fragments into longer fragments by the rules of `grammar`.
3. `chart` finds the covers of the question: sequences of fragments that use all its words.
4. `assembling` assembles a calculation from each cover. The calculation with the lowest price is the result.

The parser never guesses. It refuses a question in which words have no use, or if two calculations have almost the same
price.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from agentsvc_nb.agents.offline.assembling import Assembler, Rejected, Undecided
from agentsvc_nb.agents.offline.calculation import Calculation, Conditions, Group, Measure
from agentsvc_nb.agents.offline.chart import Chart
from agentsvc_nb.agents.offline.grammar import Composer
from agentsvc_nb.agents.offline.lexicon import tokens_of
from agentsvc_nb.agents.offline.linking import EXACT, Fragment, Linker
from agentsvc_nb.agents.offline.profile import ProfiledTable
from agentsvc_nb.agents.offline.saying import say

TOKENS_MAX: Final = 40
TIE: Final = 0.25
"""Two calculations whose prices differ by less than this are equally likely."""
READINGS_MAX: Final = 3
_SHARE: Final = re.compile(r"\b(?:share|proportion|fraction|percentage)\b", re.IGNORECASE)
_IN_PERCENT: Final = re.compile(r",?\s+(?:in|as a) (?:percent|percentage|%)", re.IGNORECASE)
_AMOUNT: Final = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)
_IN_TOTAL: Final = re.compile(r",?\s+in total\b", re.IGNORECASE)
_AGGREGATE: Final = re.compile(r"\b(?:how many|how much|total|average|avg|mean|median|number of)\b", re.IGNORECASE)
_IN_ALL: Final = re.compile(r",?\s+(?:overall|altogether|all together)(?=\s*[?.!]*\s*$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Says why a question has no calculation.

    Attributes:
        reason: the reason as a sentence, or "" if it is that words have no use.
        unused: the words that have no use.
        readings: calculations that are equally likely.
        decided: True if `readings` contains all equally likely readings. False if there are more of them, or if one
            of them has two meanings.
        known: the number of words that name a column or value of the table.
    """

    reason: str
    unused: tuple[str, ...] = ()
    readings: tuple[Calculation, ...] = ()
    decided: bool = False
    known: int = 0


class QuestionParser:
    """Parses questions about one table. Create only one parser for each table, because it indexes the table's
    values.
    """

    def __init__(self, table: ProfiledTable) -> None:
        self.table = table
        self._linker = Linker(table)
        self._composer = Composer(table)

    def parse(self, question: str) -> Calculation | Refusal:
        """Return the calculation that a question asks for, or a refusal."""
        tokens = tokens_of(_without_repetition(question))
        if not tokens:
            return Refusal("The question has no words.")
        if len(tokens) > TOKENS_MAX:
            return Refusal(f"The question has more than {TOKENS_MAX} words.")
        lexical = self._linker.link(tokens)
        known = len({one.start for one in lexical if one.kind in ("Col", "Val") and one.cost <= 1})
        chart = Chart(tokens, lexical, self._linker.skip_costs(tokens, lexical), self._composer)
        covers = chart.covers()
        assembler = Assembler(self._composer, tokens)
        prices: dict[Calculation | str, float] = {}
        reasons: list[str] = []
        for cost, cover in covers:
            if any(fragment.kind == "Unknown" for fragment in cover):
                continue
            found: Calculation | str
            try:
                found = assembler.assemble(cover)
            except Rejected as rejected:
                reasons.append(str(rejected))
                continue
            except Undecided as undecided:
                found = str(undecided)
            prices.setdefault(found, cost)  # the covers with the lowest prices come first
        if not prices:
            unused = tuple(one.meaning for one in covers[0][1] if one.kind == "Unknown") if covers else ()
            return Refusal("" if unused else reasons[0] if reasons else "", unused, known=known)
        (best, price), *others = sorted(prices.items(), key=lambda item: item[1])
        if isinstance(best, str):
            return Refusal(best, known=known)
        equal = [best, *(found for found, cost in others if cost - price < TIE)]
        if len(equal) > 1:
            calculations = tuple(found for found in equal if isinstance(found, Calculation))
            decided = len(calculations) == len(equal) <= READINGS_MAX
            readings = calculations[:READINGS_MAX]
            return Refusal("The question has several meanings.", readings=readings, decided=decided, known=known)
        return best

    def question(self, calculation: Calculation) -> str | None:
        """Return a question that parses to this calculation, or None if no such question exists."""
        return next(
            (words for words in (say(calculation), say(calculation, True)) if self.parse(words) == calculation), None
        )

    def suggest(self, question: str = "") -> Iterator[tuple[str, Calculation]]:
        """Yield questions that the parser understands, with their calculations. Questions similar to `question` come
        first.
        """
        lexical = self._linker.link(tokens_of(question)[:TOKENS_MAX])
        seen = [one.meaning for one in lexical if one.kind == "Col" and one.cost <= 1]
        yielded: set[str] = set()
        for calculation in self._calculations(seen, _condition_on(self._composer, lexical)):
            words = self.question(calculation)
            if words and words not in yielded:
                yielded.add(words)
                yield words, calculation

    def _calculations(self, seen: Sequence[str], condition: Conditions) -> Iterator[Calculation]:
        """Yield simple calculations with the table. Those with the columns `seen`, which the user's question names,
        come first.
        """
        columns = sorted(self.table.columns, key=lambda column: column.name not in seen)
        amounts = [column for column in columns if column.is_amount and not column.profile.unread]
        texts = [one for one in columns if one.kind == "text" and 1 < one.profile.distinct <= 50 and not one.unique]
        measures = [Measure("sum" if one.additive else "mean", one.name) for one in amounts[:3]] + [Measure("count")]
        if condition:
            yield from (Calculation(measures=(one,), conditions=condition) for one in measures[-2:])
        for measure, key in product(measures[:1], texts[:1]):
            yield Calculation(measures=(measure,), groups=(Group(key.name),))
        yield from (Calculation(measures=(one,)) for one in measures[:1])
        if self.table.default_date:
            yield Calculation(measures=tuple(measures[:1]), groups=(Group(self.table.default_date.name, "month"),))
        yield from (Calculation(measures=(one,)) for one in measures[1:])
        yield from (Calculation(measures=(Measure("max", one.name),)) for one in amounts[:2])
        yield from (Calculation(measures=(Measure("count"),), groups=(Group(key.name),)) for key in texts[:2])
        yield from (Calculation(measures=(Measure("distinct", one.name),)) for one in columns if one.kind == "text")


def _without_repetition(question: str) -> str:
    """Remove words that repeat what the question already says, such as `in total` after `how many`, or `in percent`
    after `what share`.

    >>> _without_repetition("How many seats do we have in total?"), _without_repetition("Average cost in total")
    ('How many seats do we have?', 'Average cost in total')
    """
    if _SHARE.search(question):
        question = _IN_PERCENT.sub("", question)
    if _AMOUNT.search(question):
        question = _IN_TOTAL.sub("", question)
    return _IN_ALL.sub("", question) if _AGGREGATE.search(question) else question


def _condition_on(composer: Composer, lexical: Sequence[Fragment]) -> Conditions:
    """Return a condition on the first value that the question names, or no conditions if it names no value."""
    values = [one.meaning for one in lexical if one.kind == "Val" and one.cost < EXACT]
    found = composer.among((values[0][0], (values[0][1],))) if values else None
    return found or frozenset()
