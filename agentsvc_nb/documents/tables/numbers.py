"""Numbers in a column of texts, exactly: decimal marks, groups of digits, currencies, per cent and other units are
decided for the column as a whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

from agentsvc_nb.documents.tables.model import MONTHS, SAMPLE, SHARE, is_empty

READ_AS_TEXT: Final = "so it is read as text."
"""The end of a sentence that says why a column of numbers has none."""
_CELL_MAX: Final = 60
_DIGITS_MAX: Final = 40
_EXPONENT_MAX: Final = 30

_SIGNS: Final = "$€£¥₹₽₺₩₪₫₴₦₱฿₡₲₵₸₼₾₿¢"
_CODES: Final = frozenset(
    {
        *("EUR", "USD", "GBP", "CHF", "JPY", "CNY", "RMB", "INR", "SEK", "NOK", "DKK", "ISK", "PLN", "CZK", "HUF"),
        *("RON", "BGN", "RSD", "UAH", "RUB", "TRY", "ILS", "AED", "SAR", "QAR", "KWD", "EGP", "ZAR", "NGN", "KES"),
        *("GHS", "MAD", "CAD", "AUD", "NZD", "SGD", "HKD", "TWD", "KRW", "THB", "MYR", "IDR", "PHP", "VND", "PKR"),
        *("BDT", "LKR", "BRL", "MXN", "ARS", "CLP", "COP", "PEN", "UYU"),
    }
)
_WORDS: Final = frozenset({"kr", "kr.", "fr.", "sfr.", "zł", "kč", "ft", "lei", "rs", "rs.", "euro", "euros"})
_SAME: Final = {
    written: code
    for code, ways in {
        "EUR": ("€", "euro", "euros"),
        "GBP": ("£",),
        "USD": ("us$",),
        "CHF": ("fr.", "sfr."),
        "CNY": ("rmb",),
        "INR": ("₹", "rs", "rs."),
        "PLN": ("zł",),
        "CZK": ("kč",),
        "HUF": ("ft",),
        "kr": ("kr.",),
        "RON": ("lei",),
        "RUB": ("₽",),
        "TRY": ("₺",),
        "UAH": ("₴",),
        "ILS": ("₪",),
        "KRW": ("₩",),
        "THB": ("฿",),
    }.items()
    for written in ways
}
"""Other ways to write a code. `$`, `¥` and `kr` are of several currencies, and so the same as none."""
_SCALES: Final = {
    word: exponent
    for exponent, words in {
        3: ("k", "K", "Tsd", "Tsd.", "thousand"),
        6: ("M", "Mn", "mn", "Mio", "Mio.", "million", "millions", "Millionen"),
        9: ("B", "bn", "Bn", "billion", "billions", "Mrd", "Mrd.", "Milliarden"),
    }.items()
    for word in words
}
_ORDINAL_SIGNS: Final = ("º", "ª")
_ORDINALS: Final = frozenset({"st", "nd", "rd", "th", *_ORDINAL_SIGNS})
_HALVES: Final = frozenset({"am", "pm", "a.m.", "p.m.", "uhr"})
_LETTERS: Final = frozenset("kKMB")
_SPACES: Final = " \u00a0\u2009\u202f'’"
_NUMBER: Final = (
    rf"(?P<number>\d{{1,3}}(?:[{_SPACES}]\d{{3}})+(?:[.,]\d+)?|\d[\d.,]*\d|\d|[.,]\d+)(?P<exponent>[eE][-+]?\d{{1,3}})?"
)
_CELL: Final = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+−–])?\s*(?P<before>[A-Z]{{0,3}}[{_SIGNS}]|[A-Z]{{3}}|[A-Za-zł]{{2,3}}\.)?\s*"
    rf"(?P<sign2>[-+−–])?\s*{_NUMBER}\s*"
    rf"(?P<after>[^\W\d_][^\d()\[\]<>=;:,+*]{{0,14}}|[%‰°{_SIGNS}][^\d()\[\]<>=;:,+*]{{0,14}})?(?P<behind>[-−])?\s*(?(open)\))"
)
_BARE: Final = re.compile(r"-?(?:\d[\d.,]*|[.,]\d[\d.,]*)")
_MARKED: Final = re.compile(r"\s*(?:\[[^\[\]]{1,12}\]|[*†‡])+$")
"""Marks of footnotes."""
_GROUPED: Final = {
    mark: re.compile(
        r"-?(?:\d{1,3}(?:G\d{3})+|\d{1,2}(?:G\d{2})+G\d{3})(?:M\d+)?".replace("G", re.escape(group)).replace(
            "M", re.escape(mark)
        )
    )
    for mark, group in ((".", ","), (",", "."))  # the decimal mark and what groups digits beside it
}
_ZEROS: Final = re.compile(r"-?0\d+")


class _Written(NamedTuple):
    """A number as written: digits with marks, the currency, and what follows."""

    digits: str
    currency: str = ""
    suffix: str = ""
    exponent: int = 0


@dataclass(frozen=True, slots=True)
class NumberReading:
    """The numbers of a column by the cell's text. `sure` is False if the decimal mark was assumed."""

    values: Mapping[str, Decimal | None]
    unit: str
    decimals: int
    mark: str
    sure: bool
    remarks: tuple[str, ...] = ()


def read_numbers(counts: Mapping[str, int], mark: str = "") -> NumberReading | str | None:
    """The numbers in these texts (each with how often it stands there), or None if they are not numbers, or why not in
    a sentence. `mark` is the decimal mark where the column leaves it open.

    >>> reading = read_numbers({"1.200,50 €": 1, "3,10 €": 1})
    >>> list(reading.values.values()), reading.unit
    ([Decimal('1200.50'), Decimal('3.10')], '€')
    """
    if not _promising(counts):
        return None
    written = {text: _written(text) for text in counts}
    filled = sum(count for text, count in counts.items() if not is_empty(text))
    known = {text: one for text, one in written.items() if one is not None}
    if not known or sum(counts[text] for text in known) < SHARE * filled:
        return None
    if any(_ZEROS.fullmatch(one.digits) for one in known.values()):
        return "Its numbers have leading zeros, so they are read as text."
    unit = _unit(known, counts)
    if isinstance(unit, str):
        return unit
    digits = {one.digits for one in known.values()}
    found, sure = decimal_mark(digits, mark, money=bool(unit.currency))
    values, decimals = _converted(counts, known, unit, found)
    if sum(counts[text] for text, value in values.items() if value is not None) < SHARE * filled:
        return None
    remarks = () if sure or _is_likely(digits, found) else (_assumed(digits, found),)
    return NumberReading(values, unit.name, decimals, _seen(digits, found), sure, (*remarks, *_left_out(known)))


def number_of(text: str, mark: str) -> Decimal | None:
    """The number in a single cell, without its unit."""
    one = _written(text)
    return None if one is None else _decimal(one, mark or ".", scaled=False)


def _promising(counts: Mapping[str, int]) -> bool:
    """Whether some of the first filled texts are numbers."""
    sample = [text for text in _first(counts, SAMPLE) if not is_empty(text)]
    return sum(1 for text in sample if _written(text)) * 2 >= len(sample) > 0


def _first(texts: Iterable[str], count: int) -> list[str]:
    return [text for text, _ in zip(texts, range(count), strict=False)]


def _written(cell: str) -> _Written | None:
    if _BARE.fullmatch(cell) and len(cell) <= _DIGITS_MAX:
        return _Written(cell)
    if len(cell) > _CELL_MAX:
        return None
    text = " ".join(cell.split())
    if not any(char.isdecimal() and char.isascii() for char in text):
        return None
    found = _CELL.fullmatch(text) or _CELL.fullmatch(_MARKED.sub("", text))
    return _from(found) if found else None


def _from(found: re.Match[str]) -> _Written | None:
    minus = [sign for sign in (found["sign"], found["sign2"], found["behind"]) if sign]
    if len(minus) > 1 or (found["open"] and minus) or (not found["number"].isascii() and not _spaced(found["number"])):
        return None
    digits = found["number"].translate(_NO_SPACES)
    exponent = int((found["exponent"] or "e0")[1:])
    negative = found["open"] or (minus and minus[0] != "+")
    before, after = found["before"] or "", (found["after"] or "").strip()
    if len(digits) > _DIGITS_MAX or abs(exponent) > _EXPONENT_MAX or (before and not is_currency(before)):
        return None
    if found["open"] and not negative:
        return None
    if after in _ORDINALS and not before:
        after = ""
    if after.casefold().rstrip(".") in MONTHS or after.casefold() in _HALVES or after.startswith(_ORDINAL_SIGNS):
        return None
    currency = before or next((part for part in (after, after.split(" ")[-1]) if part and is_currency(part)), "")
    suffix = after if before or not currency else after.removesuffix(currency).strip()
    return _Written("-" + digits if negative else digits, currency, suffix, exponent)


_NO_SPACES: Final = str.maketrans("", "", _SPACES)


def _spaced(number: str) -> bool:
    return number.translate(_NO_SPACES).isascii()


def is_currency(unit: str) -> bool:
    """Whether a unit is a currency's sign or code."""
    return unit[-1:] in _SIGNS or unit in _CODES or unit.casefold() in _WORDS


class _Unit(NamedTuple):
    name: str
    currency: str
    suffix: str
    scaled: bool


def currency_code(unit: str) -> str:
    """The code of a currency, however it is written; another unit as it is.

    >>> currency_code("€"), currency_code("kg")
    ('EUR', 'kg')
    """
    return _SAME.get(unit.casefold(), unit)


def is_currency_unit(unit: str) -> bool:
    """Whether a unit of numbers is a currency, however it is written.

    >>> is_currency_unit("US$"), is_currency_unit("kg")
    (True, False)
    """
    return bool(unit) and (currency_code(unit).upper() in _CODES or unit[-1] in _SIGNS or unit.casefold() in _WORDS)


def _unit(known: Mapping[str, _Written], counts: Mapping[str, int]) -> _Unit | str:
    """The unit of the column, or why it has none that its numbers could be added in."""
    currencies = Counter[str]()
    suffixes = Counter[str]()
    for text, one in known.items():
        if one.currency or one.suffix:
            currencies[one.currency] += counts[text]
        suffixes[one.suffix] += counts[text]
    signs = [currency for currency, _ in currencies.most_common() if currency]
    if len({currency_code(sign) for sign in signs}) > 1:
        return f"It holds several currencies ({', '.join(sorted(signs)[:5])}), so it is read as text."
    currency = signs[0] if signs else ""
    if all(not suffix or suffix in _SCALES for suffix in suffixes) and any(suffixes):
        alone = set(suffixes) - {""}
        if currency or len(suffixes) > 1 or not alone <= _LETTERS:
            return _Unit(currency, currency, "", scaled=True)
    suffix = suffixes.most_common(1)[0][0]
    return _Unit(" ".join(part for part in (currency, suffix) if part), currency, suffix, scaled=False)


def decimal_mark(digits: Collection[str], hint: str = "", money: bool = False) -> tuple[str, bool]:
    """The decimal mark of numbers as written, and whether they show it. Those such as `1.234` leave it open: then other
    numbers of the column, `hint`, or the English way decide."""
    votes = Counter(vote for one in digits if ("." in one or "," in one) and (vote := _vote(one)))
    if votes["."] or votes[","]:
        return ("." if votes["."] >= votes[","] else ","), True
    if not votes:
        return hint or ".", True
    open_marks = {one[1] for one in votes}
    if len(open_marks) > 1:  # 1,234 and 1.234 in one column
        return hint or ".", False
    mark = open_marks.pop()
    whole = [len(one.lstrip("-")) for one in digits if "." not in one and "," not in one]
    if any(length > 3 for length in whole):  # 1234 stands there without a mark: 1.234 is not as large
        return mark, True
    if money and any(one.lstrip("-").find(mark) > 1 for one in digits):
        # Cents have two digits; prices of fuel have three, and one before them.
        return "," if mark == "." else ".", True
    return (hint, True) if hint else (".", False)


def _is_likely(digits: Collection[str], mark: str) -> bool:
    """Whether the only marks are likely to group thousands: small numbers stand there without."""
    return mark == "." and not any("." in one for one in digits) and any("," not in one for one in digits)


def _vote(one: str) -> str:
    """The decimal mark that a number shows; `?` and its only mark if it may be either, empty if it is no number."""
    one = one.lstrip("-")
    last = max(one.rfind("."), one.rfind(","))
    mark, other = one[last], "," if one[last] == "." else "."
    if other in one:
        return mark if one.count(mark) == 1 else ""
    if one.count(mark) > 1:
        return other
    whole, part = one[:last], one[last + 1 :]
    return "?" + mark if len(part) == 3 and 1 <= len(whole) <= 3 and whole[0] != "0" else mark


def _converted(
    counts: Mapping[str, int], known: Mapping[str, _Written], unit: _Unit, mark: str
) -> tuple[dict[str, Decimal | None], int]:
    values: dict[str, Decimal | None] = {}
    decimals = 0
    for text in counts:
        one = known.get(text)
        if one is None or not _fits(one, unit) or (value := _decimal(one, mark, unit.scaled)) is None:
            values[text] = None
            continue
        values[text] = value
        if mark in one.digits or one.exponent < 0 or one.suffix:
            decimals = max(decimals, -int(value.as_tuple().exponent))
    return values, decimals


def _fits(one: _Written, unit: _Unit) -> bool:
    if unit.scaled or one.suffix == unit.suffix:
        return True
    return not one.suffix and one.digits.strip("-0.,") == ""  # nothing needs no unit


def _decimal(one: _Written, mark: str, scaled: bool) -> Decimal | None:
    digits, group = one.digits, "," if mark == "." else "."
    if group in digits:
        if not _GROUPED[mark].fullmatch(digits):
            return None
        digits = digits.replace(group, "")
    digits = digits.replace(",", ".") if mark == "," else digits
    scale = one.exponent + (_SCALES[one.suffix] if scaled and one.suffix else 0)
    try:
        value = Decimal(f"{digits}E{scale}" if scale else digits)  # unlike arithmetic, exact for any number of digits
    except InvalidOperation:
        return None
    return Decimal(int(value)) if scale and int(value.as_tuple().exponent) > 0 else value


def _seen(digits: Iterable[str], mark: str) -> str:
    return mark if any("." in one or "," in one for one in digits) else ""


def _assumed(digits: Iterable[str], mark: str) -> str:
    example = next(one for one in digits if "." in one or "," in one)
    read = _decimal(_Written(example), mark, scaled=False)
    return f"{example} may be meant either way; it is read as {read}."


def _left_out(known: Mapping[str, _Written]) -> tuple[str, ...]:
    marked = next((text for text in known if _MARKED.search(text.strip())), "")
    return (f"Marks of footnotes are left out of its numbers, as in {marked.strip()}.",) if marked else ()
