"""Combine a question's fragments into longer fragments, and find the covers of the question, which are sequences of
fragments that use all its words (see `parser`).
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from agentsvc_nb.agents.offline.grammar import RULES, Composer, Rule
from agentsvc_nb.agents.offline.linking import EXACT, Fragment

TOP_PRICES: Final = {
    "Cond": 1.0,
    "Measure": 1.0,
    "MeanOf": 1.0,
    "Group": 1.0,
    "Target": 1.0,
    "Rank": 1.0,
    "Ranked": 1.0,
    "Having": 1.0,
    "Share": 1.0,
    "count": 1.0,
    "distinct": 1.0,
    "Agg": 1.2,
    "List": 0.1,
    "and": 0.1,
    "Who": 0.0,
}
"""The kinds of fragments that a cover may contain, with the price of each. Because of the prices, a cover with fewer
fragments is more likely to be chosen.
"""
UNKNOWN: Final = 10.0
COVERS_MAX: Final = 80
FRAGMENTS_MAX: Final = 4_000
"""The maximum number of fragments of one question. It limits the time for questions with hundreds of equal values."""

Cover = tuple[Fragment, ...]
_RULES_BY_FIRST: Final[dict[str, list[Rule]]] = defaultdict(list)
for _rule in RULES:
    _RULES_BY_FIRST[_rule.parts[0]].append(_rule)


class Chart:
    """Holds all fragments of a question, by the position of their first word. It applies `grammar.RULES` to combine
    neighbouring fragments.
    """

    def __init__(
        self, tokens: Sequence[str], lexical: Sequence[Fragment], skip: Sequence[float | None], composer: Composer
    ) -> None:
        self.tokens, self.skip = tokens, skip
        self.starts: list[dict[str, list[Fragment]]] = [defaultdict(list) for _ in tokens]
        self._composer = composer
        self._costs: dict[tuple[Any, ...], float] = {}
        named = {(one.start, one.end) for one in lexical if one.kind in ("Col", "Val") and one.cost < EXACT}
        for fragment in lexical:
            if not _is_weaker(fragment, named):
                self._add(fragment)
        for length in range(1, len(tokens) + 1):
            for start in range(len(tokens) - length + 1):
                while self._compose(start, start + length):
                    pass

    def covers(self) -> list[tuple[float, Cover]]:
        """Return the covers of the question with the lowest prices. A word that belongs to no fragment becomes a
        fragment `Unknown`.
        """
        size = len(self.tokens)
        best: list[list[tuple[float, Cover]]] = [[] for _ in range(size + 1)]
        best[0] = [(0.0, ())]
        for at in range(size):
            best[at] = heapq.nsmallest(COVERS_MAX, best[at], key=lambda found: found[0])
            skip = self.skip[at]
            unknown = Fragment("Unknown", self.tokens[at], at, at + 1)
            for cost, cover in best[at]:
                # Skip words only at the beginning or after unknown words. Elsewhere, a fragment includes the words to
                # skip (`_add`).
                if skip is not None and (not cover or cover[-1].kind == "Unknown"):
                    best[at + 1].append((cost + skip, cover))
                best[at + 1].append((cost + UNKNOWN, (*cover, unknown)))
            for kind, price in TOP_PRICES.items():
                for one in self.starts[at].get(kind, ()):
                    best[one.end] += [(cost + price + one.cost, (*cover, one)) for cost, cover in best[at]]
        return heapq.nsmallest(COVERS_MAX, best[size], key=lambda found: found[0])

    def _add(self, fragment: Fragment) -> bool:
        """Add a fragment, and copies of it that include the words after it that may be skipped.

        Return False if the chart is full, or has the same fragment at the same or a lower cost.
        """
        key = (fragment.kind, fragment.meaning, fragment.start, fragment.end)
        if self._costs.get(key, UNKNOWN) <= fragment.cost or len(self._costs) >= FRAGMENTS_MAX:
            return False
        self._costs[key] = fragment.cost
        self.starts[fragment.start][fragment.kind].append(fragment)
        if fragment.end < len(self.tokens) and (cost := self.skip[fragment.end]) is not None:
            self._add(replace(fragment, end=fragment.end + 1, cost=fragment.cost + cost))
        return True

    def _compose(self, start: int, end: int) -> bool:
        grown = False
        for kind in list(self.starts[start]):
            for rule in _RULES_BY_FIRST.get(kind, ()):
                for found in list(self._match(rule.parts, start, end)):
                    meanings = (fragment.meaning for fragment in found if fragment.kind[0].isupper())
                    meaning = rule.function(self._composer, *meanings)
                    if meaning is not None:
                        cost = round(rule.price + sum(fragment.cost for fragment in found), 3)
                        grown |= self._add(Fragment(rule.kind, meaning, start, end, cost))
        return grown

    def _match(self, parts: tuple[str, ...], start: int, end: int) -> Iterator[Cover]:
        """Yield the sequences of fragments of these kinds that use all words from `start` to `end`."""
        for fragment in self.starts[start].get(parts[0], ()) if start < end else ():
            if len(parts) == 1:
                if fragment.end == end:
                    yield (fragment,)
            elif fragment.end < end:
                yield from ((fragment, *rest) for rest in self._match(parts[1:], fragment.end, end))


def _is_weaker(fragment: Fragment, named: set[tuple[int, int]]) -> bool:
    """Return True if a more likely fragment exists, because the words are part of an exact name of a column or value.

    `named` contains the start and end of each exact name. Example: `unit` of `unit price` is unlikely to mean a column
    `unit` if the table has a column `unit price`.
    """
    if fragment.kind not in ("Col", "Val", "row", "Person", "Event"):
        return False
    size = fragment.end - fragment.start
    return any(
        start <= fragment.start and fragment.end <= end and (size < end - start or fragment.cost >= EXACT)
        for start, end in named
    )
