"""Words that only name the table that is asked of: those of its file's or its sheet's title, `web shop revenue` of
`webshop_2024.csv`, `in the stock list`, and `order value` for the amount of what the rows are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from agentsvc_nb.agents.offline.tables.columns import day_of
from agentsvc_nb.agents.offline.tables.grammar.rules import Item
from agentsvc_nb.agents.offline.tables.linking import ALIKE, FORM, PART, SPAN_MAX, TableLinks
from agentsvc_nb.agents.offline.tables.question import Word, alike
from agentsvc_nb.documents.normalization import tokens

_FILES: Final = frozenset(
    tokens(
        "list lists report reports export table file sheet data dataset database log register overview spreadsheet"
        " liste bericht tabelle datei daten rapport tableau fichier lista informe tabla fichero datos"
    )
)
_AMOUNT: Final = frozenset(("value", "values", "amount", "amounts"))
_AMOUNT_WORDS: Final = tuple((word,) for word in _AMOUNT)
_TOTALS: Final = ("revenue", "sales", "turnover", "total", "amount", "value")
_PRICES: Final = frozenset(("price", "prices", "unit"))
_LETTERS_MIN: Final = 6
"""Shorter words that are put together may be of two others by chance."""


def names_table(words: Sequence[Word], start: int, links: TableLinks) -> int:
    """How many words from here on only name the table; 0 if they may limit it, or mean something in it."""
    span = words[start : start + 2]
    if any(len(word.tokens) != 1 or word.quoted for word in span):
        return 0
    one, *more = (word.tokens[0] for word in span)
    if more and len(one + more[0]) >= _LETTERS_MIN and _is_of_title(one + more[0], links):
        return 0 if links.stands(one + more[0]) or links.links(span) else 2
    if not _is_of_title(one, links) or _may_limit(words[start], links):
        return 0
    if more and more[0] in _FILES and not links.links(span):
        return 2
    return 1 if more and _is_before_column(words, start + 1, links) and not links.links(span) else 0


_OVER: Final = re.compile(
    r"(?:(?:over|during|across|throughout) the (?:whole |entire |full )?|(?:in|for) the (?:whole|entire|full) )"
    r"(half year|quarter|month|year|three months|six months|twelve months)(?: |$)"
)
_MONTHS: Final = {"month": 1, "quarter": 3, "three months": 3, "half year": 6, "six months": 6, "year": 12}


def all_of_period(words: Sequence[Word], start: int, links: TableLinks) -> int:
    """How many words say `over the whole quarter`, where the rows are of one quarter; else 0."""
    said = " ".join(word.tokens[0] if len(word.tokens) == 1 else "-" for word in words[start : start + 6])
    found, dates = _OVER.match(said), links.main_dates()
    ends = [day_of(text) for one in dates for text in (one.smallest, one.largest)]
    if not found or len(ends) != 2 or not ends[0] or not ends[1]:
        return 0
    length = _MONTHS.get(found[1], 12)
    first, last = (12 * day.year + day.month - 1 for day in ends if day)
    begins = not found[1].endswith("months")  # three months may be any
    within = first // length == last // length if begins else last - first + 1 == length
    return len(found[0].split()) if within else 0


def _is_of_title(word: str, links: TableLinks) -> bool:
    return any(alike(word, one) or word in (one + "s", one + "es") or word + "s" == one for one in links.title_words)


def _may_limit(word: Word, links: TableLinks) -> bool:
    """Whether it is a value, a header, or a part of the header of amounts."""
    return any(
        link.cell is not None or link.distance <= FORM or links.adds_up(links.profile(link.column))
        for link in links.links((word,))
    )


def _is_before_column(words: Sequence[Word], start: int, links: TableLinks) -> bool:
    """Whether a header comes next."""
    spans = (words[start : start + length] for length in range(1, min(SPAN_MAX, len(words) - start) + 1))
    found = (link for span in spans for link in links.links(span) if link.cell is None and link.distance <= ALIKE)
    # `stock cost` is more than the sum of a list's prices.
    return any(_PRICES.isdisjoint(links.meant[link.column.name]) for link in found)


def asks_for_value(words: Sequence[Word], start: int, links: TableLinks) -> bool:
    """Whether `value` is said of the rows: `stock value` counts none of them."""
    before = words[start - 1].tokens if start else ()
    return words[start].tokens[:1] in _AMOUNT_WORDS and len(before) == 1 and links.is_title(before[0])


def named_value(words: Sequence[Word], start: int, links: TableLinks) -> Iterator[tuple[Item, int, float]]:
    """`order value`, where a column has what an order comes to."""
    span = words[start : start + 2]
    if len(span) < 2 or any(len(word.tokens) != 1 or word.quoted for word in span):
        return
    if not links.is_title(span[0].tokens[0]) or span[1].tokens[0] not in _AMOUNT or links.links(span):
        return
    if (size := links.amount(_TOTALS)) and not any(link.distance < PART for link in links.links(span[1:])):
        line = f"{' '.join(word.text for word in span)} was read as the column {size.name}."
        yield Item("column", size, (line,)), 2, 1.0 + PART
