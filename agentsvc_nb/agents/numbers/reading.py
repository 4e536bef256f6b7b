"""Read the numbers in a text, with their precision and unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from agentsvc_nb.agents.numbers.words import CURRENCIES, SCALES, UNITS

NUMBERS_MAX: Final = 1_000
"""The maximum number of numbers to find in each text."""
TEXT_CHARS: Final = 200_000
"""The maximum number of characters to read of each text. More would make the patterns below too slow."""
_MONTH: Final = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_NOT_NUMBERS: Final = re.compile(
    r"```.*?(?:```|\Z)"  # code, addresses
    r"|`[^`\n]{0,300}`|https?://\S+|\]\([^)\n]{0,300}\)"
    r"|^[ \t]{0,12}(?:#{1,6}[ ]+)?[0-9]{1,3}[.)](?=[ ])"  # numbers of list items
    r"|\b[0-9]{1,3}(?:st|nd|rd|th)\b"
    r"|\b[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?(?:[T ][0-9]{2}:[0-9:.]+)?\b"
    r"|\b[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}\b"
    r"|\b[0-9]{1,2}(?::[0-9]{2}){1,2}\b(?:[ ]?[ap]m)?|\b[0-9]{1,2}[ ]?[ap]m\b"
    rf"|\b(?:[0-9]{{1,2}}[–-])?[0-9]{{1,2}}\.?[ ](?:of[ ])?{_MONTH}\b(?:,?[ ][0-9]{{4}}\b)?"
    rf"|\b{_MONTH}[ ][0-9]{{1,2}}\b(?![,.]?[0-9]|[ ]?%)(?:[–-][0-9]{{1,2}}\b)?(?:,?[ ][0-9]{{4}}\b)?"
    r"|\b(?:[QHW][1-9][0-9]?|FY[ ]?[0-9]{2,4})\b"
    r"|\b(?:top|bottom|first|last|next|past)[ -][0-9]{1,3}\b(?![.,]?[0-9]|[ ]?%)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"(?P<sign>(?<![\w)%\]])[-−–+±](?=[ ]?(?:US)?[$€£¥₹]?[0-9]))?"
    r"(?:(?P<before>(?:US)?[$€£¥₹][ ]?|\b(?:EUR|USD|GBP|CHF|JPY|INR)[ ])(?P<inner>[-−])?)?"
    r"(?<![\w/#^.])(?<![^\W\d_][-'])"
    r"(?P<digits>[0-9]{1,3}(?:[, \u00a0\u202f'’][0-9]{3}(?![0-9])){1,6}(?:\.[0-9]{1,15})?"
    r"|[0-9]{1,18}(?:\.[0-9]{1,15})?)"
    r"(?![0-9])"
    r"(?:[ \u00a0-]?(?P<scale>thousand|million|billion|mn|[mM]io\b\.?|Mrd\b\.?|bn|[kKM](?=[€$£]?(?![\w⊕⊙☉²³°]))"
    r"|(?<! )B(?!\w)|m(?!\w))(?!\w))?"
    r"(?P<unit>[ \u00a0]?%"
    r"|[ \u00a0]?(?:percentage[ ]points?|percent\b|pp\b|p\.p\.|ppts?\b|points?\b|pts\b|bps\b|basis[ ]points\b)"
    r"|[ ]?[€£$¥₹](?!\d)|[ \u00a0](?:EUR|USD|GBP|CHF|JPY|INR|euros?|dollars?)\b|[x×](?!\w))?"
)
_DECIMAL_COMMA: Final = re.compile(r"\d,\d{1,2}(?![\d,])")
_DECIMAL_POINT: Final = re.compile(r"\d\.\d{1,2}(?![\d.])|\d,\d{3}(?![\d,])")
_SWAPPED: Final = str.maketrans(",.", ".,")
_WORDED: Final = {
    name: float(value)
    for value, name in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 2
    )
}
_WORD_NUMBER: Final = re.compile(rf"\b(?:{'|'.join(_WORDED)})\b", re.IGNORECASE)
_ABOUT: Final = re.compile(
    r"(?:about|around|roughly|approximately|circa|some|over|more than|at least|nearly|almost|under|up to|[~≈])[ \0*]*$",
    re.IGNORECASE,
)
_ABOUT_CHARS: Final = 20
_PER: Final = re.compile(r"[^.;,\n0-9]{0,24}?\bper ([1-9][0-9]{0,2}(?:,?000)*)\b")
_UNIT_WORD: Final = re.compile(r"[ \u00a0-]?([A-Za-z]{1,12})")


@dataclass(slots=True)
class Number:
    """A number in a text.

    Attributes:
        value: its absolute value, including factors such as `thousand`.
        step: the precision: the value of one unit of its last digit, 0.1 for `4.2`.
        digits: the number of its significant digits.
        kind: `percent`, `points` (percentage points), `times`, `money`, or "" for all others.
        negative: True for a minus sign, False for a plus sign, None without a sign.
        measure: a pair: the quantity that its unit measures, such as time, and the unit's size in the smallest unit of
            this quantity.
        adjectival: True if it is part of a term such as `30-day`, or if `worded` is True.
        worded: True if it is a word such as `two`.
        scaled: True if it has a factor such as `thousand`.
        per: the second number of a phrase such as `3.2 per 1,000`, or 1.
    """

    start: int
    end: int
    text: str
    value: float
    step: float
    digits: int
    kind: str = ""
    negative: bool | None = None
    currency: str = ""
    measure: tuple[str, float] | None = None
    adjectival: bool = False
    worded: bool = False
    scaled: bool = False
    per: float = 1.0

    def fits(self, value: float) -> bool:
        """Return True if `value`, rounded to the precision of this number, equals this number."""
        off = value - self.value
        least = 1e-9 * max(1.0, abs(value))
        half = self.step * 0.5 + least
        return abs(off) <= half

    @property
    def is_year(self) -> bool:
        return not self.kind and len(self.text) == 4 and self.text.isdigit() and 1900 <= self.value < 2100


def blank_non_numbers(text: str) -> str:
    """Replace code, addresses, dates, ordinals and some Markdown by NUL characters, so that offsets stay the same."""
    return _NOT_NUMBERS.sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), blank_markdown(text))


def blank_markdown(text: str) -> str:
    """Return the text with NUL characters in place of bold marks and escapes of Markdown. Offsets stay the same."""
    return text[:TEXT_CHARS].replace("**", "\0\0").replace("\\$", "\0$").replace("\\~", "\0~")


def numbers(text: str, blank: str) -> list[Number]:
    """Return the first `NUMBERS_MAX` numbers of a text. `blank` must be `blank_non_numbers(text)`."""
    if _DECIMAL_COMMA.search(blank) and not _DECIMAL_POINT.search(blank):
        blank = blank.translate(_SWAPPED)
    found: list[Number] = []
    for match in _NUMBER.finditer(blank):
        after = blank[match.end() : match.end() + 1]
        if after.isalpha() and not match["unit"] and not _is_unit(blank[match.end() : match.end() + 4]):
            continue  # part of a name such as `3D`
        found.append(_number(match, text, blank))
        if len(found) >= NUMBERS_MAX:
            break
    for match in _WORD_NUMBER.finditer(blank[: found[-1].end] if len(found) >= NUMBERS_MAX else blank):
        if len(found) >= 2 * NUMBERS_MAX:
            break
        value = _WORDED[match[0].lower()]
        found.append(Number(match.start(), match.end(), match[0], value, 1.0, 1, worded=True, adjectival=True))
    found.sort(key=lambda number: number.start)
    for number, following in pairwise(found):
        _share_unit(number, following, blank[number.end : following.start])
    return found[:NUMBERS_MAX]


def _number(match: re.Match[str], text: str, blank: str) -> Number:
    digits = re.sub(r"[^0-9.]", "", match["digits"])
    unit = (match["unit"] or "").strip().lower()
    currency = CURRENCIES.get((match["before"] or "").strip().lower()) or CURRENCIES.get(unit, "")
    scaling = match["scale"] or ""
    metres = scaling == "m" and not currency  # "5 m" is a length, "$5m" is not
    scale = 1.0 if metres else SCALES.get(scaling.lower().rstrip("."), 1.0)
    places = len(digits.partition(".")[2])
    start = match.start()
    number = Number(
        start,
        match.end(),
        text[start : match.end()],
        float(digits) * scale,
        10.0**-places * scale,
        len(digits.replace(".", "").lstrip("0")) or 1,
        "money" if currency else _kind(unit),
        currency=currency,
        scaled=scale != 1,
    )
    sign = match["sign"] or match["inner"]
    number.negative = None if not sign or sign == "±" else sign != "+"
    if unit in ("bps", "basis points"):
        number.value, number.step = number.value / 100, number.step / 100
    about = _ABOUT.search(blank, max(0, start - _ABOUT_CHARS), start)
    zeros = len(digits) - len(digits.rstrip("0")) if not places else 0
    if zeros >= 2 and scale == 1 and (about or zeros >= 3 or len(digits) - zeros > 2):
        number.step = 10.0 ** min(zeros, len(digits) - 1)
        number.digits = max(len(digits) - zeros, 1)
    behind = blank[match.end() : match.end() + 40]
    if per := _PER.match(behind):
        number.per = float(re.sub(r"\D", "", per[1]))
    if word := _UNIT_WORD.match(behind):
        if not behind.startswith("/", word.end()):
            number.measure = UNITS.get(word[1]) or UNITS.get(word[1].lower())
        number.adjectival = behind.startswith("-")
    return number


def _is_unit(behind: str) -> bool:
    word = re.match(r"[A-Za-z]{1,3}(?![A-Za-z])", behind)
    return word is not None and word[0] in UNITS


def _kind(unit: str) -> str:
    if unit in ("%", "percent"):
        return "percent"
    if unit in ("x", "×"):
        return "times"
    return "points" if unit else ""


def _share_unit(number: Number, following: Number, gap: str) -> None:
    """If two numbers form a range (`3-5 %`, `between 4.1 and 4.8 million`), copy the second one's unit to the first."""
    if gap.strip(" \0").lower() not in ("-", "–", "—", "to", "and", "or", "/", ""):
        return
    if gap.strip(" \0") in ("-", "–") and following.negative is None and following.text[:1] in "-–":
        following.negative = None
    if number.kind or number.measure:
        return
    number.kind, number.currency, number.measure = following.kind, following.currency, following.measure
    if following.scaled and not number.scaled and number.value < 1_000:
        scale = next((SCALES[word] for word in re.findall("[a-z]+", following.text.lower()) if word in SCALES), 1.0)
        number.value, number.step, number.scaled = number.value * scale, number.step * scale, True
