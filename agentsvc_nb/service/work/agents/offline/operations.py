"""The operations that a question can name, in four languages, and the columns that some words imply."""

from __future__ import annotations

import re
from typing import Final

Pattern = re.Pattern[str]

# All patterns see the question folded: small letters, no marks, words one blank apart (`rules.search.tokens`).
OPERATIONS: Final[dict[str, Pattern]] = {
    name: re.compile(rf"\b(?:{words})\b")
    for name, words in {
        "count": r"how many|number of|count|anzahl|wie ?viele|combien de|nombre de|cuant[oa]s|numero de",
        "median": r"median|mediane|mediana",
        "mean": r"average|mean|avg|durchschnitt\w*|mittelwert|mittlere[rsn]?|moyen|moyenne|promedio",
        "min": r"min|minimum|lowest|smallest|cheapest|least|fewest|niedrigste\w*|kleinste\w*|gunstigste\w*|billigste\w*"
        r"|geringste\w*|wenigsten|l[ea] moins|minimo|el menor|la menor|menos|mas baj[oa]|mas barat[oa]",
        "max": r"max|maximum|highest|largest|biggest|greatest|most|best|top|bestselling|bestseller|hochste\w*"
        r"|grosste\w*|teuerste\w*|meisten|l[ea] plus|maximo|el mayor|la mayor|mas alt[oa]|mas car[oa]",
        "sum": r"sum|total|totals|overall|altogether|combined|summe|gesamt\w*|insgesamt|somme|suma|en tout",
    }.items()
}


def is_operation(word: str) -> bool:
    """Whether the (folded) word alone names an operation."""
    return any(pattern.fullmatch(word) for pattern in OPERATIONS.values())


DISTINCT: Final = re.compile(
    r"\b(?:distinct|different|unique|verschiedene\w*|unterschiedliche\w*|differents?|differentes|distint[oa]s)\b"
)
COUNTED: Final = re.compile(
    r"\b(?:how many|number of|count(?: the| of)?|anzahl(?: der)?|wie ?viele|combien de|nombre de|cuant[oa]s|numero de)"
    r"((?: \w+){1,3})"
)
GROUP: Final = re.compile(r"\b(?:per|by|for each|each|pro|je|nach|par|por)(?=((?: \w+){1,3}))")
BY: Final = re.compile(r"\b(?:per|by|for each|pro)(?=((?: \w+){1,3}))")
"""After these a column is meant; the other words of `GROUP` mean more (`je`, `par`, `nach`)."""
NO_COLUMN: Final = frozenset("far default mistake chance hand way cent se row line item entry record".split())  # noqa: SIM905
"""`By far`, `per item`: no column is meant."""
WHICH: Final = re.compile(r"\b(?:which|what|welche\w*|quel(?:le)?s?|que|cual(?:es)?(?: \w+)?)((?: \w+){1,2})")
NOT: Final = re.compile(
    r"\b(?:without|except|excluding|exclude|not|ohne|ausser|nicht|sauf|sans|excepte|sin|excepto)(?: (\w+))?\b"
)
"""Rows are to be left out, which the rules do not understand."""
LEADERS: Final = re.compile(r"\b(?:top|best|beste[rsn]?)(?: \d{1,3})?((?: \w+){1,2})")
CONDITION: Final = re.compile(
    r"\b(?:in|for|of|from|during|since|until|before|after|fur|im|von|bei|seit|vor|pour|dans|pendant|en|para|durante)"
    r"(?: (?:the|all|der|die|das|dem|den|le|la|les|el|los|las))* (\w+)"
)
"""Words after these often name the rows that are meant."""
_MOST = "best|highest|largest|lowest|cheapest|smallest"
TOP: Final = re.compile(rf"\b(?:top|bottom|{_MOST}) (\d{{1,3}})\b|\b(\d{{1,3}}) (?:{_MOST})\b")

_PRICE: Final = ("price", "cost", "preis", "prix", "precio", "kosten")
IMPLIED: Final[tuple[tuple[Pattern, tuple[str, ...]], ...]] = (
    (
        re.compile(r"\b(?:cheapest|expensive|gunstigste\w*|billigste\w*|teuerste\w*|cher|chere|car[oa]|barat[oa])\b"),
        _PRICE,
    ),
    (
        re.compile(r"\b(?:best ?sell\w*|sold|sells|verkauft\w*|vendu\w*|vendid\w*)\b"),
        ("units", "sold", "sales", "qty", "quantity", "revenue"),
    ),
)
"""Words that imply a column: the names to look for, likeliest first."""

# What can be computed from a price and a cost.
MARGIN: Final = frozenset({"margin", "margins", "marge", "margen", "marges", "margenes"})
PROFIT: Final = frozenset({"profit", "profits", "gewinn", "benefice", "beneficio"})
PRICE_WORDS: Final = ("price", "preis", "verkaufspreis", "prix", "precio", "revenue", "umsatz")
COST_WORDS: Final = ("cost", "costs", "cogs", "kosten", "einkaufspreis", "cout", "coste", "costo")

ABOVE_BELOW: Final = re.compile(
    r"(?:(?P<ge>at least|>=|≥|mindestens|au moins|al menos)|(?P<le>at most|<=|≤|hochstens|au plus|como maximo)"
    r"|(?P<gt>over|above|more than|greater than|higher than|>|uber|mehr als|plus de|mas de)"
    r"|(?P<lt>under|below|less than|lower than|cheaper than|<|unter|weniger als|moins de|menos de))"
    r"\s*\D?(?P<number>\d[\d.,]*)",
)
"""A condition on numbers, sought in the question with its signs kept."""

# Parts of a column's name that say how, not what, it measures.
UNITS: Final = frozenset(
    "eur usd gbp chf pct percent percentage in of the per amount value no nr pro je de la le en".split()  # noqa: SIM905
)
