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
        "share": r"share|percentage|percent|fraction|anteil|prozentsatz|pourcentage|proporti?on|porcentaje|proporcion",
        "median": r"median|mediane|mediana",
        "mean": r"average|mean|avg|durchschnitt\w*|mittelwert|mittlere[rsn]?|moyen|moyenne|promedio",
        "min": r"min|minimum|lowest|smallest|shortest|lightest|slowest|youngest|cheapest|least|fewest|niedrigste\w*"
        r"|kleinste\w*|gunstigste\w*|billigste\w*|kurzeste\w*|leichteste\w*|geringste\w*|wenigsten|l[ea] moins|minimo"
        r"|el menor|la menor|menos|mas baj[oa]|mas barat[oa]",
        "max": r"max|maximum|highest|largest|longest|heaviest|fastest|oldest|biggest|greatest|most|best|top|bestselling"
        r"|bestseller|hochste\w*|grosste\w*|langste\w*|schwerste\w*|teuerste\w*|meisten|l[ea] plus|maximo"
        r"|el mayor|la mayor|mas alt[oa]|mas car[oa]",
        "sum": r"sum|total|totals|overall|altogether|together|combined|in all|summe|gesamt\w*|insgesamt"
        r"|somme|suma|en tout",
    }.items()
}


def named(folded: str) -> list[str]:
    """The operations that a question names. The average number of seats is an average."""
    found = [name for name, words in OPERATIONS.items() if words.search(folded)]
    reducing = {"mean", "median", "min", "max"} & set(found)
    counted = OPERATIONS["count"].search(folded)
    if reducing and counted and AMOUNT.fullmatch(counted[0]):
        found.remove("count")
    return found


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
OVERALL: Final = re.compile(r"\b(?:overall|altogether|together|combined|insgesamt|en tout)\b")
ROWS: Final = frozenset("rows lines entries items records zeilen eintrage lignes filas entradas".split())  # noqa: SIM905
"""What the rows of any table may be called."""
AMOUNT: Final = re.compile(r"\b(?:number of|amount of|anzahl|nombre de|numero de)\b")
"""In `the average number of seats` nothing is counted."""
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
    (
        re.compile(r"\b(?:pieces|units|copies|stuck|unites|piezas|unidades)\b"),
        ("quantity", "qty", "units", "sold", "pieces"),
    ),
    (re.compile(r"\b(?:heaviest|lightest)\b"), ("weight", "mass")),
    (re.compile(r"\b(?:longest|shortest)\b"), ("length", "duration", "days")),
)
"""Words that imply a column: the names to look for, likeliest first."""

NOT_ADDED: Final = frozenset(
    "price preis prix precio rate percent share year jahr annee ano age alter ctr cpc roas cost kosten week".split()  # noqa: SIM905
)
"""Columns with such a word in their names are added up only when the question says so."""

# What can be computed from a price and a cost.
MARGIN: Final = frozenset({"margin", "margins", "marge", "margen", "marges", "margenes"})
PROFIT: Final = frozenset({"profit", "profits", "gewinn", "benefice", "beneficio"})
PRICE_WORDS: Final = ("price", "preis", "verkaufspreis", "prix", "precio", "revenue", "umsatz")
COST_WORDS: Final = ("cost", "costs", "cogs", "kosten", "einkaufspreis", "cout", "coste", "costo")

ABOVE_BELOW: Final = re.compile(
    r"(?:(?P<ge>at least|>=|≥|mindestens|au moins|al menos)|(?P<le>at most|<=|≤|hochstens|au plus|como maximo)"
    r"|(?P<gt>over|above|more than|greater than|higher than|>|uber|mehr als|plus de|mas de)"
    r"|(?P<lt>under|below|less than|lower than|cheaper than|<|unter|weniger als|moins de|menos de))"
    r"\s*\D?(?P<number>\d[\d.,]*)(?:\s*(?P<scale>[a-z]+)\b)?",
)
"""A condition on numbers, sought in the question with its signs kept."""
_IS: Final = "of|is|are|was|equals|equal to|exactly|von|gleich|ist|de|a|an"
_GOES_ON: Final = "and|und|et|y|in|for|from|on|with|have|has|were|was|are|is|did|do"
EQUAL: Final = re.compile(
    rf"(?P<words>\w+(?:[ _-]\w+){{0,2}}?)(?:\s*=\s*|\s+(?:(?:{_IS})\s+){{0,2}})"
    rf"(?P<number>\d[\d.,]*)(?=\s*(?:[?!;:.,)]|$)|\s+(?:{_GOES_ON})\b)"
)
"""A column and its number: `week 21`, `a stock of 0`."""

# Parts of a column's name that say how, not what, it measures.
UNITS: Final = frozenset(
    "eur usd gbp chf pct percent percentage in of the per amount value no nr pro je de la le en".split()  # noqa: SIM905
)
