"""What asks for an amount that is not named as its column is: verbs, rates that have a name, and units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from agentsvc_nb.agents.offline.languages.language import Vocabulary
from agentsvc_nb.agents.offline.tables.grammar.rates import rate
from agentsvc_nb.agents.offline.tables.grammar.rules import Item
from agentsvc_nb.agents.offline.tables.grammar.spans import LIGHT_BESIDES, WORD, Meaning, Told, is_counting, phrase_of
from agentsvc_nb.agents.offline.tables.linking import ALIKE, TableLinks
from agentsvc_nb.agents.offline.tables.question import Word
from agentsvc_nb.formats.plans.plan import Column

_MONEY: Final = frozenset((word,) for word in ("€", "eur", "euro", "euros", "$", "dollar", "dollars", "£"))
"""Behind a number they limit nothing where no column says which money it is in."""
_ASKED_MUCH: Final = frozenset(("much", "most", "least", "more", "less"))


def units(words: Sequence[Word], start: int, links: TableLinks) -> Iterator[Meaning]:
    word = words[start]
    if start and words[start - 1].number is not None and word.tokens[:1] in _MONEY and not links.has_money:
        yield Item("light"), 1, WORD
    if not word.tokens:
        return
    # A unit that no number has is that of the column: `in mm` is no `Wind`.
    counted = start > 0 and words[start - 1].number is not None
    beside = counted or word.tokens[0] not in links.units
    if start and beside and word.tokens[0] in links.header_units and not links.links((word,)):
        yield Item("light"), 1, WORD
    if word.tokens[0] in links.units:
        yield Item("unit", links.units[word.tokens[0]]), 1, WORD


def amounts(
    words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary, told: Told
) -> Iterator[Meaning]:
    """`how much did we take in`: verbs that ask for an amount where none is named."""
    said = {token for word in words for token in word.tokens}
    if language.verbs.get(words[start].tokens) == "income":
        found = None if told.any or is_counting(words[:start], language) else links.amount_of("income")
        if found:
            line = f"{words[start].text} was read as the column {found.name}."
            yield Item("column", found, (line,)), 1, WORD + ALIKE
        return
    if not language.verbs or said.isdisjoint(_ASKED_MUCH):
        return
    spans = ((at, length) for length in (2, 1) for at in range(len(words) + 1 - length))
    verbs = [(*span, what) for span in spans if (what := language.verbs.get(phrase_of(words[span[0] : sum(span)])))]
    if "much" not in said and not _ends_with_most(words, language):
        return  # `which source brings in the most deals`
    if words[start].tokens == ("money",) and verbs:
        yield Item("light"), 1, WORD
    for at, length, what in verbs:
        if at == start:
            yield Item("light"), length, WORD + LIGHT_BESIDES  # `how much did we spend on shipping`
        if at == start and (found := links.amount_of(what)):
            line = f"{' '.join(word.text for word in words[at : at + length])} was read as the column {found.name}."
            yield Item("column", found, (line,)), length, WORD + ALIKE + 0.1 * (2 - length)


def _ends_with_most(words: Sequence[Word], language: Vocabulary) -> bool:
    """Whether `the most` is all that is said: no noun follows it."""
    at = next(at for at, word in enumerate(words) if not _ASKED_MUCH.isdisjoint(word.tokens))
    behind = words[at + 1 : at + 2]
    return not behind or behind[0].tokens == ("money",) or behind[0].tokens[:1] in [(one,) for one in language.light]


def named_rate(which: str, said: str, links: TableLinks, length: int) -> Iterator[Meaning]:
    if made := rate(which, links):
        over, under = (one.operand for one in (made.left, made.right))
        names = [of.name for of in (over, under) if isinstance(of, Column)]
        line = f"{said} was computed as {' / '.join(names)}."
        yield Item("measure", (made,), (line,)), length, WORD - LIGHT_BESIDES
