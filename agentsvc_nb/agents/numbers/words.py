"""The vocabulary of the number check: stems of words, synonyms, units, and words that announce a calculation."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

WORD: Final = re.compile(r"[^\W\d_²³]+|[0-9]+")
_CAMEL: Final = re.compile(r"(?<=[a-z]{2})(?=[A-Z])")
_ENDINGS: Final = (
    ("ations", "ation"),
    ("ies", "y"),
    ("sses", "ss"),
    ("ments", ""),
    ("ment", ""),
    ("ings", ""),
    ("ing", ""),
    ("ers", "er"),
    ("ches", "ch"),
    ("ed", ""),
    ("s", ""),
)
_STEM_CHARS: Final = 6
"""Longer stems are truncated, so that `readmitted` and `readmission` have the same stem."""
MONTHS: Final = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_SHORT: Final = {name[:3]: name for name in MONTHS} | {"sept": "september"}
_DIGITS: Final = {
    name: str(value)
    for value, name in enumerate(["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 2)
}


@lru_cache(100_000)
def stem(word: str) -> str:
    """Return the stem of an English word: without common suffixes, and truncated to six letters."""
    low = word.lower()
    low = _SHORT.get(low) or _DIGITS.get(low, low)
    for ending, instead in _ENDINGS:
        if low.endswith(ending) and len(low) - len(ending) >= 3 and not low.endswith(("ss", "us", "is")):
            low = low[: len(low) - len(ending)] + instead
            break
    return low[:_STEM_CHARS].removesuffix("e") if len(low) > 3 else low


def words(text: str) -> list[str]:
    """Return the stems of a text's words in order. Names such as `avg_price` and `unitCost` are split into words."""
    return [stem(word) for word in WORD.findall(_CAMEL.sub(" ", text))]


def stems(text: str) -> frozenset[str]:
    """Return the set of stems of a text."""
    return frozenset(words(text))


STOP: Final = stems(
    "a an the of in on at to for by from with and or but is are was were be been it its this that these those as than "
    "then so we you they i our their his her not no only just about there which who what when where how did do does "
    "has have had all each every us me my s t into per if can will would could should also both while"
)
UP: Final = stems(
    "up rise rose risen grow grew grown growth increase gain climb higher more above over overrun exceed jump surplus "
    "added ahead lead beat improve faster longer larger bigger extra outperform"
)
DOWN: Final = stems(
    "down fall fell fallen drop decrease decline lose lost loss lower less below under underspent save slip shrink "
    "shrank shortfall behind fewer short cut reduce reduction minus remaining left dip trail slower smaller worse"
)
CHANGE: Final = (
    UP
    | DOWN
    | stems(
        "change difference gap swing delta versus vs compare against margin apart spread move exceed lift uplift "
        "remove removing took taken excluded"
    )
)
TOTAL: Final = stems(
    "total overall together altogether combined sum all whole entire across both between add up insgesamt zusammen"
)
MEAN: Final = stems("average mean avg typical typically per median durchschnitt schnitt")
SHARE: Final = stems(
    "share of percent proportion makes account represent contribute come portion half rate only about majority part"
)
RATIO: Final = stems("per each every ratio times x multiple average factor rate for double twice triple")
EARLIER: Final = stems("before previous previously earlier instead originally former prior")
EXTREME: Final = stems(
    "highest lowest most least largest smallest biggest best worst top peak maximum minimum max min longest shortest "
    "fastest slowest strongest weakest lead leading bottom record first last between range stay vary span from"
)
_UNITS: Final = {
    "energy": {"wh": 1, "kwh": 1e3, "mwh": 1e6, "gwh": 1e9, "twh": 1e12},
    "power": {"kw": 1e3, "mw": 1e6, "gw": 1e9},
    "mass": {"g": 1, "gram": 1, "kg": 1e3, "kilogram": 1e3, "tonne": 1e6, "ton": 1e6, "t": 1e6},
    "time": {
        "ms": 0.001,
        "millisecond": 0.001,
        "s": 1,
        "second": 1,
        "sec": 1,
        "secs": 1,
        "min": 60,
        "mins": 60,
        "minute": 60,
        "hour": 3_600,
        "hr": 3_600,
        "hrs": 3_600,
        "h": 3_600,
        "day": 86_400,
        "week": 604_800,
        "month": 2_629_800,
        "year": 31_557_600,
    },
    "bytes": {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
    "length": {"mm": 0.001, "cm": 0.01, "m": 1, "meter": 1, "metre": 1, "km": 1e3, "mile": 1_609.344},
    "currency": {},
}
UNITS: Final = {
    spelled: (kind, float(factor))
    for kind, units in _UNITS.items()
    for name, factor in units.items()
    for spelled in (name, f"{name}s"[: len(name) + (len(name) > 2)])
}
"""For each unit, the quantity that it measures, and its size in the smallest unit of this quantity."""
CURRENCIES: Final = {
    "$": "USD",
    "us$": "USD",
    "usd": "USD",
    "dollar": "USD",
    "dollars": "USD",
    "€": "EUR",
    "eur": "EUR",
    "euro": "EUR",
    "euros": "EUR",
    "£": "GBP",
    "gbp": "GBP",
    "pounds": "GBP",
    "¥": "JPY",
    "jpy": "JPY",
    "yen": "JPY",
    "chf": "CHF",
    "francs": "CHF",
    "₹": "INR",
    "inr": "INR",
}
SCALES: Final = {
    "k": 1e3,
    "thousand": 1e3,
    "thousands": 1e3,
    "m": 1e6,
    "mn": 1e6,
    "mio": 1e6,
    "mrd": 1e9,
    "million": 1e6,
    "millions": 1e6,
    "bn": 1e9,
    "b": 1e9,
    "billion": 1e9,
    "billions": 1e9,
}
