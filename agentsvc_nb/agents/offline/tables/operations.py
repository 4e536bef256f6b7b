"""The words of questions about tables, in four languages: operations, conditions, and words that imply a column."""

from __future__ import annotations

import re
from typing import Final

Pattern = re.Pattern[str]

# Patterns see the question folded: small letters, no marks, words one blank apart (`formats.normalization.tokens`).
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
REDUCING: Final = ("sum", "mean", "median", "min", "max")
"""The operations that make one number of a column."""


def named(folded: str) -> list[str]:
    """The operations that a question names. `The average number of seats` is an average and no count, and `at most` is
    no maximum."""
    folded = _AT.sub(" ", folded)
    found = [name for name, words in OPERATIONS.items() if words.search(folded)]
    reducing = {"mean", "median", "min", "max"} & set(found)
    counted = OPERATIONS["count"].search(folded)
    if reducing and counted and AMOUNT.fullmatch(counted[0]):
        found.remove("count")
    return found


def is_operation(word: str) -> bool:
    """Whether the (folded) word alone names an operation."""
    return any(pattern.fullmatch(word) for pattern in OPERATIONS.values())


def places(folded: str, span: tuple[int, int]) -> frozenset[int]:
    """The places (from 0) of the words of a folded question within a span of its characters."""
    first = folded.count(" ", 0, span[0])
    return frozenset(range(first, first + len(folded[slice(*span)].split())))


def matched(pattern: Pattern, folded: str) -> list[frozenset[int]]:
    """The places of the words of each match of the pattern in a folded question."""
    return [places(folded, found.span()) for found in pattern.finditer(folded)]


_AT: Final = re.compile(r"\b(?:at (?:least|most)|al menos|au (?:plus|moins))\b")
DISTINCT: Final = re.compile(
    r"\b(?:distinct|different|unique|verschiedene\w*|unterschiedliche\w*|differents?|differentes|distint[oa]s)\b"
)
COUNTED: Final = re.compile(
    r"\b(?:how many|number of|count(?: the| of)?|anzahl(?: der)?|wie ?viele|combien de|nombre de|cuant[oa]s|numero de)"
    r"((?: \w+){1,3})"
)
OVERALL: Final = re.compile(r"\b(?:overall|altogether|together|combined|insgesamt|en tout)\b")
ROWS: Final = frozenset("rows lines entries items records zeilen eintrage lignes filas entradas".split())  # noqa: SIM905
"""Words for the rows of any table."""
AMOUNT: Final = re.compile(r"\b(?:number of|amount of|anzahl|nombre de|numero de)\b")
"""In `the average number of seats` nothing is counted."""
GROUP: Final = re.compile(r"\b(?:per|by|for each|each|pro|je|nach|par|por)(?=((?: \w+){1,3}))")
BY: Final = re.compile(r"\b(?:per|by|for each|pro)(?=((?: \w+){1,3}))")
"""After these a column is meant; the other words of `GROUP` (`je`, `par`, `nach`) have other meanings, too."""
GROUPING: Final = re.compile(r"\b(?:per|by|for each|each|every|pro|je|jede\w*|nach|par|por)\b")
COUNTING: Final = re.compile(
    r"\b(?:how (?:many|much)|number of|amount of|quantity of|count(?: of| the)?|anzahl(?: der)?|wie ?viele?|combien de"
    r"|nombre de|cuant[oa]s|numero de)\b"
)
FORMULAS: Final = re.compile(
    r"\b(?:per|pro|par|por|ratio|verhaltnis|rapport|relacion|divided|geteilt|divisee?|dividido|times|multiplied|mal"
    r"|multipliziert|fois|multiplicado|margins?|margen(?:es)?|marges?|profits?|gewinn|beneficio|benefice)\b"
)
"""The words that quotients, products and margins are read from."""
SUMMED: Final = re.compile(
    r"\b(?:(?:most|least|fewest)(?! \w*(?:ive|ous|lar|able|ant|ent)\b)|total|sum|overall|altogether|together|combined"
    r"|meisten|wenigsten|gesamt\w*|insgesamt|average|mean|median|durchschnitt\w*)\b"
)
"""Words that say that the rows of a group are taken together, as a total or an average."""
NO_COLUMN: Final = frozenset("far default mistake chance hand way cent se row line item entry record".split())  # noqa: SIM905
"""Words after `by` and `per` that mean no column: `by far`, `per item`."""
AGENT: Final = re.compile(r"(?:by|par|por) (?:the|all|le|la|les|el|los|las)\b")
"""`By` with an agent, which groups nothing: `paid by the guests`."""
WHICH: Final = re.compile(r"\b(?:which|what|welche\w*|quel(?:le)?s?|que|cual(?:es)?(?: \w+)?)((?: \w+){1,4})")
NOT: Final = re.compile(
    r"\b(?:(?:other|rather) than|(?:apart|aside) from|except(?: for)?|excluding|exclude|besides|without|outside(?: of)?"
    r"|(?:is|are|was|were|do|does|did|has|have|had)n t|not|neither|nor"
    r"|ohne|ausser|nicht|weder|sauf|sans|hors|excepte|sin|excepto|salvo)\b"
)
"""Words that exclude the values after them."""
BINDING: Final = re.compile(
    NOT.pattern
    + r"|\b(?:at (?:least|most)|(?:more|less|fewer) than|(?:[a-z]+n|can|won) t|cannot|no|only|more|than|same|such"
    r"|above|after|under|until|over(?! (?:all|the|these|those)\b)|each|every|or|per"
    r"|kein\w*|nur|als|nach|unter|vor|uber(?! alle)|oder|jede\w*|pro|pas|plus|ou|mas|entre|o)\b"
)
"""Stop words that change the meaning: a calculation that ignores them answers another question."""
ASKED: Final = re.compile(
    r"^(?:(?:and|in|at|to|by|with|from|for|on|of|und|et|y|en|de|mit|von|a) )?"
    r"(?:(?P<who>who|whom|whose|wer|wen|wem|qui|quien(?:es)?)|(?P<when>when|wann|quand|cuando)"
    r"|(?P<where>where|wo|ou|donde)|(?P<other>why|warum|wieso|pourquoi"
    r"|(?:is|are|was(?! (?:ist|sind|war|waren|hat|haben)\b)|were|do|does|did|has|have|had|ist|sind|war|waren|hat|haben"
    r"|est|sont|es|son)(?! you\b)))\b"
)
"""Question words at the beginning that want a name or a yes: a sum does not say who, or whether."""
NAMED_BY: Final[dict[str, tuple[str, ...]]] = {
    "who": ("name", "person", "player", "employee", "customer", "driver", "artist", "candidate", "guide", "author"),
    "when": ("date", "day", "month", "year", "datum", "jahr", "fecha", "ano", "annee"),
    "where": ("place", "location", "city", "country", "venue", "town", "region", "ort", "stadt", "land", "ville"),
}
"""The columns that say who, when and where, likeliest first."""
LEADERS: Final = re.compile(
    rf"\b(?:{OPERATIONS['max'].pattern}|{OPERATIONS['min'].pattern}|beste[rsn]?)(?: \d{{1,3}})?((?: \w+){{1,2}})"
)
CONDITION: Final = re.compile(
    r"\b(?:in|for|of|from|during|since|until|before|after|fur|im|von|bei|seit|vor|pour|dans|pendant|en|para|durante)"
    r"(?: (?:the|all|der|die|das|dem|den|le|la|les|el|los|las))* (\w+)"
)
"""Words after these often name the rows that are meant."""
MOST_OF: Final = re.compile(
    r"\b(?:appears|occurs)(?: the)? most\b"
    r"|\b(?:most|fewest|least|(?:highest|largest|greatest|lowest|smallest) number of)"
    r" (?:often|frequent\w*|common|(?P<noun>\w+))"
)
"""`The most states`, `most often`: rows are counted; `noun` is what each of them is."""
_MOST = "best|highest|largest|lowest|cheapest|smallest"
TOP: Final = re.compile(rf"\b(?:top|bottom|{_MOST}) (\d{{1,3}})\b|\b(\d{{1,3}}) (?:{_MOST})\b")

_PRICE: Final = ("price", "cost", "preis", "prix", "precio", "kosten")
IMPLIED: Final[tuple[tuple[Pattern, tuple[str, ...]], ...]] = (
    (
        re.compile(
            r"\b(?:cheapest|cheaper|expensive|gunstigste\w*|billigste\w*|teuerste\w*|cher|chere|car[oa]|barat[oa])\b"
        ),
        _PRICE,
    ),
    (
        re.compile(r"\b(?:best ?sell\w*|sold|sells?|verkauft\w*|vendu\w*|vendid\w*)\b"),
        ("units", "sold", "sales", "qty", "quantity", "revenue"),
    ),
    (
        re.compile(r"\b(?:pieces|units|copies|stuck|unites|piezas|unidades)\b"),
        ("quantity", "qty", "units", "sold", "pieces"),
    ),
    (
        re.compile(r"\b(?:weighs?|heaviest|heavier|lightest|lighter|schwerste\w*|leichteste\w*)\b"),
        ("weight", "mass", "gewicht"),
    ),
    (
        re.compile(r"\b(?:longest|longer|shortest|shorter|langste\w*|kurzeste\w*)\b"),
        ("length", "duration", "days", "time", "period", "distance", "minutes", "hours"),
    ),
    (re.compile(r"\b(?:fastest|faster|slowest|slower)\b"), ("speed",)),
    (re.compile(r"\b(?:oldest|older|youngest|younger)\b"), ("age", "alter")),
    (re.compile(r"\b(?:earns?|earned|verdient)\b"), ("salary", "wage", "wages", "earnings", "gehalt", "salaire")),
)
"""Words that imply a column: the names to look for, likeliest first."""
SAID_OF: Final[tuple[tuple[Pattern, tuple[str, ...]], ...]] = (
    *IMPLIED,
    (
        re.compile(r"\b(?:pays?|paid(?= (?:by|for|the|an?)\b)|costs?)\b"),
        ("fare", "fee", "price", "cost", "salary", "wage", "rent"),
    ),
)
"""Words that add nothing when such a column is used: those that imply it, and others (`the fare that they paid`)."""

NOT_ADDED: Final = frozenset(
    "price preis prix precio age alter cost kosten week".split()  # noqa: SIM905
)
"""Columns with such a word in their names are added up only when the question says so."""
NEVER_ADDED: Final = frozenset(
    "rate percent percentage pct share ratio ctr cpc roas average avg mean median year jahr annee ano".split()  # noqa: SIM905
)
"""Columns with such a word in their names are never added up."""

RANKS: Final = frozenset("rank ranking place position pos rang platz posicion".split())  # noqa: SIM905
"""Words in names of columns where the highest place is 1."""
PLACES: Final = RANKS | frozenset("number no nr id code week day stage".split())  # noqa: SIM905
"""Words in names of columns whose numbers say which one, not how much."""

LESS_IS_BETTER: Final = frozenset("price preis prix precio cost costs kosten cpc time duration".split())  # noqa: SIM905
"""Words in names of columns where the best may be the lowest value, or the highest."""
VALUE: Final = re.compile(r"\b(?:values?|figures?|werte?|valeurs?|valor(?:es)?)\b")
"""In `the highest value of a column` it adds nothing; but `the value of the stock` is not a number of pieces."""
MOST: Final = re.compile(r"\b(?:most|least|fewest)\b")
BEST: Final = re.compile(r"\b(?:best|worst|beste[rsn]?)\b")
MEASURED_IN: Final = frozenset(
    "km m cm mm ml l g kg t lb lbs mi ft days hours minutes seconds min sec million thousand usd ha sq".split()  # noqa: SIM905
)
"""Units that names of columns end with."""

UNIT_WORDS: Final = {
    "euro": "eur", "euros": "eur", "dollar": "usd", "dollars": "usd", "pounds": "gbp", "percent": "pct",
    "kilometers": "km", "kilometres": "km", "meters": "m", "metres": "m", "kilograms": "kg", "kilos": "kg",
    "grams": "g", "milliliters": "ml", "millilitres": "ml", "liters": "l", "litres": "l", "minutes": "min",
}  # fmt: skip
"""Units as they are said, with the abbreviations that names of columns end with."""

# Words for numbers that are computed from a price and a cost, and for these two columns.
MARGIN: Final = frozenset({"margin", "margins", "marge", "margen", "marges", "margenes"})
PROFIT: Final = frozenset({"profit", "profits", "gewinn", "benefice", "beneficio"})
PRICE_WORDS: Final = ("price", "preis", "verkaufspreis", "prix", "precio", "revenue", "umsatz")
COST_WORDS: Final = ("cost", "costs", "cogs", "kosten", "einkaufspreis", "cout", "coste", "costo")

# Conditions on numbers: these see the question with its signs and punctuation (`normalization.fold`).
_NUMBER: Final = r"\d+(?:[.,]\d+)*(?![:\d])"
_SCALE: Final = r"(?:\s*(?P<scale>[a-z]+)\b)?"
ABOVE_BELOW: Final = re.compile(
    r"(?<!\w)(?:(?P<ge>at least|not? (?:less|fewer) than|>=|≥|mindestens|au moins|al menos)"
    r"|(?P<le>at most|not? more than|up to|<=|≤|hochstens|au plus|como maximo)"
    r"|(?P<gt>over|above|exceeding|>|uber|(?:mehr|grosser) als|plus de|mas de"
    r"|(?:more|greater|higher|larger|bigger|longer|heavier|older|faster) than)"
    r"|(?P<lt>under|below|<|unter|(?:weniger|kleiner) als|moins de|menos de"
    r"|(?:less|fewer|lower|smaller|cheaper|shorter|lighter|younger|slower) than))"
    rf"\s*[$€£¥]?\s*(?P<number>{_NUMBER}){_SCALE}"
)
OR_MORE: Final = re.compile(
    rf"(?<![\w.,:-])(?P<number>{_NUMBER}){_SCALE}\s*(?:%\s*)?(?:or|and|oder|und|ou|et|o|y)\s+"
    r"(?:(?P<ge>more|above|over|higher|greater|mehr|plus|mas)"
    r"|(?P<le>less|fewer|below|under|lower|weniger|moins|menos))\b(?! than)"
)
BETWEEN: Final = re.compile(
    rf"(?<!\w)(?:between|from|zwischen|von|entre|de)\s+[$€£¥]?(?P<number>{_NUMBER})\s+(?:and|to|und|bis|et|a|y)\s+"
    rf"[$€£¥]?(?P<high>{_NUMBER}){_SCALE}"
)
_LIST: Final = rf"{_NUMBER}(?:(?:\s*,\s+|\s*,?\s+(?:or|and|oder|und|ou|et|o|y)\s+){_NUMBER})*"
AND_OR: Final = frozenset("and or und oder et ou y o".split())  # noqa: SIM905
_WORDS: Final = r"\w+(?:[ _-]\w+){0,2}"
_IS: Final = "of|is|are|was|equals|equal to|exactly|von|gleich|ist|de|a|an"
_GOES_ON: Final = "and|und|et|y|in|for|from|on|with|have|has|were|was|are|is|did|do"
EQUAL: Final = re.compile(
    rf"(?P<words>{_WORDS}?)(?:\s*=\s*|\s+(?:(?:{_IS})\s+){{0,2}})"
    rf"(?P<numbers>{_LIST})(?=\s*(?:[?!;:.,)]|$)|\s+(?:{_GOES_ON})\b)"
)
"""A column and its number: `week 21`, `a stock of 0`, `a score of 9 or 10`."""
AMOUNTS: Final = re.compile(
    rf"(?<![\w.,:-])(?:(?P<numbers>{_LIST})|no|zero|without(?: any)?|keine?n?|ohne|sans|sin)\s+(?=(?P<words>{_WORDS}))"
)
"""A number and its column: `9 or 10 seats`, `no overtime`."""

# Words of a column's name that say in which unit it measures, not what.
UNITS: Final = frozenset(
    "eur usd gbp chf pct percent percentage in of the per amount value no nr pro je de la le en".split()  # noqa: SIM905
)
