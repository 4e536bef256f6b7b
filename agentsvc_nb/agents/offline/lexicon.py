"""The words that the question parser knows, and functions that reduce words to stems and roots, by which words are
compared.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _ordered(text: str) -> tuple[str, ...]:
    return tuple(text.split())


LEXICON: Final[dict[str, dict[Any, str]]] = {
    # Calculations.
    "Agg": {
        "sum": "total|sum|sum of|total of|overall|combined|how much",
        "mean": "average|mean|avg|average of|mean of",
        "median": "median|median of",
        "max": "maximum|max|maximum of",
        "min": "minimum|min|minimum of",
    },
    "count": {"": "how many|number of|count of|count"},
    "total": {"": "total number of|total count of"},
    "distinct": {"": "different|distinct|unique"},
    "Share": {"share": "percentage of|percent of|share of|proportion of|fraction of|% of"},
    "ratio": {"": "ratio of|ratio between"},
    # Orders.
    "Sup": {
        True: "highest|largest|most|biggest|greatest|maximum|best|top",
        False: "lowest|smallest|fewest|least|minimum|worst",
    },
    "SupHint": {
        (True, "price cost"): "most expensive|costliest|priciest",
        (False, "price cost"): "least expensive|cheapest",
        (True, "age"): "oldest",
        (False, "age"): "youngest",
        (True, "duration length"): "longest",
        (False, "duration length"): "shortest",
        (True, "DATE"): "latest|most recent|newest",
        (False, "DATE"): "earliest",
        (True, "COUNT"): "most common|most frequent|most often|most popular",
        (False, "COUNT"): "least common|least frequent",
    },
    "Top": {
        True: "top|first|highest|largest|best|biggest|most expensive",
        False: "bottom|lowest|smallest|worst|cheapest|least expensive",
    },
    "Nth": {2: "second|2nd", 3: "third|3rd", 4: "fourth|4th", 5: "fifth|5th"},
    # Comparisons: before a number, after a number, with an implied column (`older than`), and before a date.
    "Cmp": {
        ">": "over|above|more than|greater than|higher than|exceeding|larger than|exceed|bigger than|>",
        "<": "under|below|less than|fewer than|lower than|smaller than|<",
        ">=": "at least|no less than|not less than|no fewer than|minimum of|>=|≥",
        "<=": "at most|no more than|not more than|up to|maximum of|<=|≤",
        "=": "exactly|equal to|equals|equal|=",
    },
    "After": {
        ">=": "or more|or higher|or above|or over|and above|and over|or greater|or later",
        "<=": "or less|or fewer|or lower|or below|and below|or under",
    },
    "CmpHint": {
        (">", "age"): "older than",
        ("<", "age"): "younger than",
        (">", "duration length"): "longer than",
        ("<", "duration length"): "shorter than",
        (">", "price cost"): "more expensive than",
        ("<", "price cost"): "cheaper than",
    },
    "When": {
        "<": "before|earlier than|prior to",
        ">": "after|later than",
        ">=": "since|starting|not before|from",
        "<=": "until|through|no later than|not after|not later than|up to|at the latest",
    },
    # Periods.
    "Part": {
        "day": "day|date",
        "week": "week",
        "month": "month",
        "quarter": "quarter",
        "year": "year",
        "weekday": "weekday|day of week|day of the week",
    },
    "PartAdj": {"day": "daily", "week": "weekly", "month": "monthly", "quarter": "quarterly", "year": "yearly|annual"},
    "Weekday": {
        (1,): "monday",
        (2,): "tuesday",
        (3,): "wednesday",
        (4,): "thursday",
        (5,): "friday",
        (6,): "saturday",
        (7,): "sunday",
        (6, 7): "weekend|the weekend",
        (1, 2, 3, 4, 5): "working day|week day|weekdays",
    },
    # Question words. `Who` maps them to the kinds of columns that they ask for.
    "List": {"list": "list|name|show|give|show me|give me|list all"},
    "Who": {("text",): "who|whom", ("date",): "when", ("text", "bool"): "where"},
    "Measured": {
        unit: unit for unit in _ordered("second minute hour km kilometer meter kg gram euro dollar usd eur mile")
    },
    "Unit": {"age": "year old|year of age"},
    # Words that join the other parts of a grammar rule, and have no meaning of their own.
    "by": {
        "": "by|for each|for every|in each|broken down by|grouped by|split by|for all|of each|each|every|group by",
    },
    "per": {"": "per"},
    "to": {"": "to"},
    "and": {"": "and|,|&"},
    "or": {"": "or|nor"},
    "between": {"": "between|from"},
    "not": {
        "": "not|but not|all but|excluding|except|except for|other than|without|isn't|aren't|wasn't|weren't|neither|"
        "not from|not in|didn't|don't|doesn't|wouldn't|no|outside|!=|<>|≠",
    },
    "without": {"": "without|without a|no|missing|lacking|with no"},
    "with": {"": "with|had|have|has"},
    "where": {"": "where|whose|for which|in which|with|if"},
    "empty": {"": "empty|missing|blank|null"},
    "is": {"": "is|of|was|are|were|equal|=|named|called|:"},
}
"""For each kind of fragment, the meanings and the phrases for each meaning, separated by bars. The parser compares
stems, so plural and case do not matter.
"""

RATIOS: Final[tuple[tuple[str, str, str, int], ...]] = (
    ("cpa", "cost spend", "conversion acquisition", 1),
    ("cpc", "cost spend", "click", 1),
    ("cpm", "cost spend", "impression", 1000),
    ("ctr", "click", "impression", 100),
    ("click-through rate", "click", "impression", 100),
    ("conversion rate", "conversion", "click", 100),
    ("cvr", "conversion", "click", 100),
    ("roas", "revenue", "cost spend", 1),
    ("aov", "revenue", "order", 1),
)
"""The ratios that the parser knows: name, words in the header of the numerator, words in the header of the denominator,
and factor (100 for a percentage).
"""

NOT_ADDITIVE: Final = words_of(
    "per price rate ratio score age rat rating satisfaction percent percentage pct average avg mean median year rank "
    "position temperature level discount id no number margin index latitude longitude size height share ctr cpc "
    "cpm cpa roas balance stock zip code star grade weight width depth speed"
)
"""Words in headers of columns whose sum over rows is rarely useful, such as prices."""
ID_WORDS: Final = words_of("id no nr sku ean isbn gtin")
"""Last words in headers of columns with ids of rows. Example: `Order No`."""
GENERAL_HEADERS: Final = words_of("id no nr number name reference")
"""Words in headers of id columns. If a header has only such words, it does not say what the ids identify."""
SYNONYMS: Final = (
    words_of("cost spend spent expense"),
    words_of("revenue sale turnover income"),
    words_of("salary pay earn"),
)
"""Groups of synonyms for amounts. A question may use a synonym for a header if no other header has a synonym of the
same group.
"""
PERIODS: Final = words_of("month day hour quarter week date")
"""Words for periods. A column whose header has only such words contains numbers of periods: `Month` does not add up,
but `Hours worked` does.
"""
QUANTITIES: Final = frozenset({"unit", "quantity", "qty", "piece"})
MONEY: Final = words_of(
    "amount total subtotal price cost spend spent expense revenue sale turnover income profit salary pay wage bonus "
    "fee tax shipping discount budget balance payment value cpc cpm cpa betrag umsatz preis kosten gehalt summe brutto "
    "netto montant prix importe precio bedrag"
)
"""Words in headers of amounts of money."""
FLOWS: Final = ((MONEY | QUANTITIES | NOT_ADDITIVE) - words_of("salary pay wage")) | words_of(
    "click impression view visit visitor session user order sold conversion lead download install goal vote point win "
    "hour minute second duration kilometer km mile kwh ticket signup subscriber event purchase booking night passenger "
    "death case birth emission production export import consumption return refund count people attendance medal gold "
    "silver bronze run email call message page follower like comment share watch reach"
)
"""Words in headers for which `highest` has one meaning: a total (`which campaign has the highest cost`), or a single
value of a column that does not add up. With other headers, it may mean either.
"""
MEANS: Final = words_of("avg average mean median")
RATES: Final = words_of("rate ratio percent percentage pct ctr cvr cpc cpm cpa roas") | MEANS
"""Words in headers of rates, whose sum over rows makes no sense."""
OPPOSITES: Final = tuple(
    (one, other)
    for one, _, other in (
        pair.partition("/")
        for pair in _ordered(
            "s/h d/c dr/cr +/- debit/credit soll/haben debet/credit débit/crédit debe/haber dare/avere af/bij in/out "
            "incoming/outgoing inflow/outflow income/expense deposit/withdrawal einnahme/ausgabe einnahmen/ausgaben "
            "eingang/ausgang zugang/abgang gutschrift/lastschrift gutschrift/belastung sale/refund payment/refund "
            "purchase/refund charge/refund"
        )
    )
)
"""Pairs of values that mark incoming and outgoing rows."""
SIDES: Final = words_of("type kind side sign direction code indicator soll haben debit credit kennzeichen")
"""Words in headers of columns that mark incoming and outgoing rows."""
YES_NO: Final = (("yes", "no"), ("y", "n"), ("true", "false"))
ROW_NOUNS: Final = frozenset({"row", "record", "entry", "line", "response"})
EVENT_NOUNS: Final = words_of("event action transaction interaction activity")
"""Nouns that mean the rows of a log, although a column of their types may have the same name."""
PEOPLE: Final = words_of("respondent people person employee patient student member player")
HEADER_NOISE: Final = words_of("is has id at in of the usd eur gbp second minute hour")
"""Words in headers that a question may leave out."""
FUNCTION_WORDS: Final = words_of(
    "a an the of in on at for from to with is are was were be been do does did has have had there it its that "
    "which whose what this these those we our us i me my their all any so as than also then s you would will "
    "can please pls thanks hi hello what's whats who's whos that's thats there's we've"
)
FILLERS: Final = words_of(
    "get got tell much make made place placed go went come came sold sell take took given located live amount "
    "data dataset table year's overall's how's happen occur by's each's find see value spreadsheet file "
    "still actually really ever altogether brought bring become used something anything"
)
"""Words that a question may contain without a meaning for the calculation, unless the table has a similar header or
value.
"""
AUXILIARY: Final = words_of("is are was were did does do had have has went would will come came")
MONTHS: Final = _ordered("january february march april may june july august september october november december")
WEEKDAYS: Final = _ordered("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
NUMBER_WORDS: Final = _ordered("zero one two three four five six seven eight nine ten eleven twelve")
_IRREGULAR: Final = {
    "paid": "pay",
    "payment": "pay",
    "sold": "sell",
    "men": "man",
    "women": "woman",
    "people's": "people",
    "series": "series",
    "bought": "buy",
    "is": "is",
    "was": "was",
    "has": "has",
    "this": "this",
    "weekdays": "weekdays",
}

TOKEN: Final = re.compile(
    r"`[^`]+`|\"[^\"]+\"|“[^”]+”"  # a quoted header or value
    r"|\d{4}-\d\d(?:-\d\d)?(?![\w-])|\d+(?:st|nd|rd|th)\b"
    r"|(?:(?<!\w)-)?[$€£]?\d+(?:,\d{3})*(?:\.\d+)?(?!\w)"
    r"|!=|<>|[><]=?"
    r"|[^\W_][\w'’.&/-]*[^\W_]|[^\W_]"
    r"|[^\s\w?!.;()'’\"“”…]"  # other signs are tokens, so that `revenue - cost` does not read as two sums
)


def tokens_of(text: str) -> list[str]:
    """Split a text into words, numbers, quotations and operators."""
    return TOKEN.findall(text)


def split_header(name: str) -> list[str]:
    """Split a header into lower-case words.

    >>> split_header("unitPrice"), split_header("unit_price"), split_header("Unit price (EUR)")
    (['unit', 'price'], ['unit', 'price'], ['unit', 'price', 'eur'])
    """
    return re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of a word: in lower case, without a plural or genitive ending.

    >>> stem("entries"), stem("boxes"), stem("region's"), stem("status")
    ('entry', 'box', 'region', 'status')
    """
    word = re.sub(r"['’]s$|['’]$", "", word.lower())
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and re.search(r"(ss|x|ch|sh|zz)es$", word):
        return word[:-2]
    return word[:-1] if len(word) > 3 and re.search(r"[^siu]s$", word) else word


def root(word: str) -> str:
    """Return the root of a word: its stem without endings of verbs and adjectives. More words share a root than a stem.

    >>> root("shipped"), root("shipping"), root("churned")
    ('ship', 'ship', 'churn')
    """
    short = re.sub(r"(ing|ed|ier|er|ies|y|e)$", "", stem(word)) if len(word) > 3 else stem(word)
    return re.sub(r"([bdgklmnprt])\1$", r"\1", short) if len(short) > 2 else stem(word)


BEGINNINGS: Final = frozenset(
    root(word)
    for word in _ordered(
        "created opened submitted registered issued order booked published signup started placed posted"
    )
)
"""Roots in headers of columns that say when a row's event began, such as `Created At` and `Booked On`."""
