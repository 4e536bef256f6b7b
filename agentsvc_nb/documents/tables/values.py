"""Convert the texts of a column to numbers, durations, dates, times or booleans.

A column is read as a whole, because other cells decide the meaning of ambiguous ones such as `1.234`, `03/04/2026` or
`12:30`. Each distinct text is read only once, so the functions take a mapping from texts to the numbers of cells with
this text (`counts`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final, NamedTuple

from agentsvc_nb.documents.tables.model import Kind, Value

SHARE: Final = 0.75
"""The share of a column's filled cells that must be of one kind. Otherwise, the column is read as text."""
_EMPTY: Final = frozenset(
    (
        "",
        *("-", "--", "---", "–", "—", "n/a", "na", "n.a.", "n. a.", "nan", "null", "none", "nil", "#null!", "k.a."),
        *("k. a.", "keine angabe", "tbd", "tba", "?", ".", "...", "…", "..", "unknown", "(not set)", "(null)"),
    )
)
"""Texts that mean "no value" in columns of numbers or dates."""


def is_empty(text: str) -> bool:
    """Return True if a cell in a column of numbers or dates has no value."""
    return not text or text.strip().casefold() in _EMPTY


class Hints(NamedTuple):
    """Hints from other columns for ambiguous cells: their decimal mark, and whether the day precedes the month."""

    decimal_mark: str = ""
    day_first: bool | None = None


NO_HINTS: Final = Hints()


@dataclass(frozen=True, slots=True)
class ColumnReading:
    """How the texts of a column are interpreted. `values` maps each text to its value, or to None if it is empty or not
    of this kind."""

    kind: Kind
    values: Mapping[str, Value]
    unit: str = ""
    decimals: int = 0
    decimal_mark: str = ""
    day_first: bool | None = None
    sure: bool = True
    """False if hints from other columns could change the interpretation."""
    notes: tuple[str, ...] = field(default=())
    doubt: str = ""
    """A question about the cells that the column leaves open, so that values may be wrong, or "" if there is none."""

    def has_same_form(self, other: ColumnReading) -> bool:
        """Return True if both readings interpret cells by the same rules."""
        return (self.kind, self.unit, self.decimals, self.decimal_mark, self.day_first) == (
            other.kind, other.unit, other.decimals, other.decimal_mark, other.day_first,
        )  # fmt: skip


def read_texts(name: str, counts: Mapping[str, int], hints: Hints = NO_HINTS) -> ColumnReading:
    """Interpret the texts of the column `name`. `counts` has the number of cells with each text.

    >>> read_texts("Cost", {"1.200,50 €": 1, "3,10 €": 1}).values["1.200,50 €"]
    Decimal('1200.50')
    """
    if words := _read_truth(counts):
        return ColumnReading("boolean", words)
    note = ""
    if not _is_compact_date(name, counts):
        numbers = _read_numbers(name, counts, hints.decimal_mark)
        if isinstance(numbers, ColumnReading):
            return numbers
        note = numbers
    if reading := _read_durations(name, counts) or _read_dates(name, counts, hints.day_first):
        return reading
    texts = {text: text.strip() or None for text in counts}
    return ColumnReading("text", texts, notes=(note,) if note else ())


def collect_hints(readings: Iterable[ColumnReading], default: Hints) -> Hints:
    """Return the most common decimal mark and order of day and month among the columns that are not ambiguous."""
    sure = [one for one in readings if one.sure]
    marks = Counter(one.decimal_mark for one in sure if one.decimal_mark)
    orders = Counter(one.day_first for one in sure if one.day_first is not None)
    return Hints(
        marks.most_common(1)[0][0] if marks else default.decimal_mark,
        orders.most_common(1)[0][0] if orders else default.day_first,
    )


_TRUTH: Final = tuple(
    {yes: True, no: False}
    for yes, no in (
        *(("true", "false"), ("yes", "no"), ("y", "n"), ("ja", "nein"), ("oui", "non"), ("sí", "no"), ("si", "no")),
        *(("wahr", "falsch"), ("vrai", "faux"), ("verdadero", "falso"), ("t", "f"), ("on", "off")),
    )
)


def _read_truth(counts: Mapping[str, int]) -> dict[str, Value] | None:
    if len(counts) > 12:
        return None
    folded = {text: text.strip().casefold() for text in counts}
    words = {word for word in folded.values() if word}
    pair = next((pair for pair in _TRUTH if words and words <= pair.keys()), None)
    # A column whose only text is `y` or `t` may mean anything.
    if pair is None or (all(len(word) == 1 for word in words) and len(words) < 2):
        return None
    return {text: pair.get(word) for text, word in folded.items()}


# Numbers

_CELL_MAX: Final = 60
_DIGITS_MAX: Final = 40
_EXPONENT_MAX: Final = 30
_SIGNS: Final = "$€£¥₹₽₺₩₪₫₴₦₱฿₡₲₵₸₼₾₿¢"
_CODES: Final = (
    "EUR USD GBP CHF JPY CNY RMB INR SEK NOK DKK ISK PLN CZK HUF RON BGN RSD UAH RUB TRY ILS AED SAR QAR KWD EGP ZAR"
    " NGN KES GHS MAD CAD AUD NZD SGD HKD TWD KRW THB MYR IDR PHP VND PKR BDT LKR BRL MXN ARS CLP COP PEN UYU"
)
CURRENCY_CODES: Final = frozenset(_CODES.split())
_WORDS: Final = frozenset(("kr", "kr.", "fr.", "sfr.", "zł", "kč", "ft", "lei", "rs", "rs.", "euro", "euros"))
_SAME_CURRENCY: Final = {
    written: code
    for code, ways in {
        "EUR": "€ euro euros",
        "GBP": "£",
        "USD": "us$",
        "CHF": "fr. sfr.",
        "CNY": "rmb",
        "INR": "₹ rs rs.",
        "PLN": "zł",
        "CZK": "kč",
        "HUF": "ft",
        "KR": "kr kr.",
        "RON": "lei",
        "RUB": "₽",
        "TRY": "₺",
        "UAH": "₴",
        "ILS": "₪",
        "KRW": "₩",
        "THB": "฿",
    }.items()
    for written in ways.split()
}
"""Maps other notations of currencies to codes. `$`, `¥` and `kr` are missing, because several currencies use them."""
_SCALES: Final = {
    word: exponent
    for exponent, words in {
        3: "k K Tsd Tsd. thousand",
        6: "M Mn mn Mio Mio. million millions Millionen",
        9: "B bn Bn billion billions Mrd Mrd. Milliarden",
    }.items()
    for word in words.split()
}
_AMBIGUOUS_SCALES: Final = frozenset("kKMB")
"""Suffixes that may also mean kelvin, metres or bytes if all numbers of a column have the same."""
_NO_UNITS: Final = frozenset(["am", "pm", "a.m.", "p.m.", "uhr"])
_ORDINALS: Final = frozenset(["st", "nd", "rd", "th"])
_SPACES: Final = " \u00a0\u2009\u202f'’"
_NARROW: Final = str.maketrans("０１２３４５６７８９，．％￥－（）−\u2011", "0123456789,.%¥-()--")
_AMOUNT: Final = re.compile(
    rf"(?P<before>[^\d.,]*)"
    rf"(?P<number>\d{{1,3}}(?:[{_SPACES}]\d{{3}})+(?:[.,]\d+)?|[.,]?\d+(?:[.,]\d+)*)"
    rf"(?P<exponent>[eE][-+]?\d{{1,3}})?(?:[.,][-–—]+)?\.?"
    rf"(?P<after>[^\d]*|\s*[^\W\d_]{{1,3}}[23²³])"
)
_PLAIN: Final = re.compile(r"-?(?:\d[\d.,]*\d|\d|[.,]\d+)")
_FOOTNOTE: Final = re.compile(r"(?<=[\d%)])\s*(?:\[[^\[\]]{1,12}\]|[*†‡]|[¹²³⁴⁵⁶⁷⁸⁹])+$")
_MONEY_DASH: Final = re.compile(rf"[\s()]*(?:[{_SIGNS}]|[A-Z]{{3}})\s*[-–—]+[\s()]*|[\s()]*[-–—]+\s*[{_SIGNS}][\s()]*")
_DEBIT: Final = re.compile(r"(?i)(?<![^\W\d_])(cr|dr)\.?(?![^\W\d_])")
_GROUPED: Final = {
    mark: re.compile(rf"-?(?:\d{{1,3}}(?:{group}\d{{3}})+|\d{{1,2}}(?:{group}\d{{2}})+{group}\d{{3}})(?:{point}\d+)?")
    for mark, group, point in ((".", ",", r"\."), (",", r"\.", ","))
}
"""Patterns of numbers with thousands separators, by their decimal mark."""


class Amount(NamedTuple):
    """A number as written: its sign and digits with their marks, its currency, and any other unit."""

    digits: str
    currency: str = ""
    unit: str = ""
    exponent: int = 0


@lru_cache(100_000)
def parse_amount(cell: str) -> Amount | None:
    """Split a number into its digits and units, or return None if the cell is not a number.

    >>> parse_amount(" $ (1,200.00)")
    Amount(digits='-1,200.00', currency='$', unit='', exponent=0)
    """
    if len(cell) <= _DIGITS_MAX and _PLAIN.fullmatch(cell) and cell.isascii():
        return Amount(cell)
    if len(cell) > _CELL_MAX:
        return None
    text = _FOOTNOTE.sub("", " ".join(cell.translate(_NARROW).split()))
    if text.startswith("\\"):  # the yen sign of Japanese exports
        text = "¥" + text[1:]
    found = _AMOUNT.fullmatch(text)
    if not found or (not found["number"].isascii() and not found["number"].translate(_NO_SPACES).isascii()):
        return Amount("0", text.strip("()-–— ")) if _MONEY_DASH.fullmatch(text) else None
    before, after = found["before"], found["after"]
    digits = found["number"].translate(_NO_SPACES)
    exponent = int((found["exponent"] or "e0")[1:])
    if len(digits) > _DIGITS_MAX or abs(exponent) > _EXPONENT_MAX:
        return None
    minus = sum(part.count(sign) for part in (before, after[-1:]) for sign in "-–")
    brackets = before.count("("), after.count(")")
    booking = _DEBIT.search(f"{before} {after}")
    if brackets not in ((0, 0), (1, 1)) or minus > 1 or (minus and brackets[0]):
        return None
    if booking:
        before, after = _DEBIT.sub("", before), _DEBIT.sub("", after)
    before = before.strip("-–+( ")
    after = after.rstrip(")-– ").strip()
    if before and not is_currency(before):
        return None
    if after in _ORDINALS and not before:
        after = ""
    if (
        after.casefold() in _NO_UNITS
        or after.casefold().rstrip(".") in MONTHS
        or re.search(r"[()<>=;:,+*ºª/#]", after[:1])
    ):
        return None
    if len(after) > 15 or (after and not re.match(rf"[^\W\d_]|[%‰°{_SIGNS}/]", after)):
        return None
    currency = before or next((part for part in (after, after.split(" ")[-1]) if part and is_currency(part)), "")
    unit = after if before or not currency else after.removesuffix(currency).strip()
    negative = minus or brackets[0] or (booking and booking[1].lower() == "dr")
    return Amount("-" + digits if negative else digits, currency, unit, exponent)


_NO_SPACES: Final = str.maketrans("", "", _SPACES)


def is_currency(unit: str) -> bool:
    return unit[-1:] in _SIGNS or unit in CURRENCY_CODES or unit.casefold() in _WORDS


def currency_code(unit: str) -> str:
    """Return the code of a currency in any notation. Return other units unchanged.

    >>> currency_code("€"), currency_code("kg")
    ('EUR', 'kg')
    """
    return unit if unit in CURRENCY_CODES else _SAME_CURRENCY.get(unit.casefold(), unit)


def read_number(text: str, mark: str = ".") -> Decimal | None:
    """Return the number in a single cell, or None. Its unit is ignored."""
    amount = parse_amount(text)
    return None if amount is None else _to_decimal(amount, mark or ".", scaled=False)


def _read_numbers(name: str, counts: Mapping[str, int], hint: str) -> ColumnReading | str:
    """Interpret the texts as numbers, or return a note that says why they are not (possibly "")."""
    sample = [text for text, _ in zip(counts, range(1000), strict=False) if not is_empty(text)]
    if not sample or sum(1 for text in sample if parse_amount(text)) * 2 < len(sample):
        return ""
    amounts = {text: amount for text in counts if not is_empty(text) and (amount := parse_amount(text))}
    filled = sum(count for text, count in counts.items() if not is_empty(text) and not is_error(text))
    if sum(counts[text] for text in amounts) < SHARE * filled:
        return ""
    if any(re.fullmatch(r"-?0\d+", one.digits) for one in amounts.values()):
        return "The numbers have leading zeros, so the column is read as text."
    unit = _find_unit(amounts, counts)
    if isinstance(unit, str):
        return unit
    digits = {one.digits for one in amounts.values()}
    mark, sure = find_decimal_mark(digits, hint, money=bool(unit.currency))
    values: dict[str, Value] = dict.fromkeys(counts)
    decimals = read = 0
    for text, one in amounts.items():
        if not (unit.scaled or one.unit == unit.suffix or one.digits.strip("-0.,") == ""):
            continue
        if (value := _to_decimal(one, mark, unit.scaled)) is not None:
            values[text] = value
            read += counts[text]
            decimals = max(decimals, -int(value.as_tuple().exponent))
    if read < SHARE * filled:
        return ""
    notes = []
    doubt = ""
    # If no number has a point, and some have no comma, commas are thousands separators.
    only_commas = mark == "." and not any("." in one for one in digits) and any("," not in one for one in digits)
    if not sure and not only_commas:
        example = next(one for one in digits if "." in one or "," in one)
        shown = _to_decimal(Amount(example), mark, scaled=False)
        doubt = f"Is {example} a decimal number? No cell tells. It is read as {shown}."
    elif is_serial_date(name, [value for value in values.values() if isinstance(value, Decimal)]):
        doubt = "Are the numbers dates, counted in days as in a spreadsheet? No cell tells. They are read as numbers."
    notes += [doubt] if doubt else []
    if marked := next((text for text in amounts if _FOOTNOTE.search(text.strip())), ""):
        notes.append(f"Footnote marks are left out of the numbers, as in {marked.strip()}.")
    seen = mark if any("." in one or "," in one for one in digits) else ""
    decided = sure or not any("." in one or "," in one for one in digits)
    return ColumnReading("number", values, unit.name, decimals, seen, sure=decided, notes=tuple(notes), doubt=doubt)


class _Unit(NamedTuple):
    name: str
    currency: str
    suffix: str
    scaled: bool


def _find_unit(amounts: Mapping[str, Amount], counts: Mapping[str, int]) -> _Unit | str:
    """Return the unit of the column, or a note that says why its numbers can't be added."""
    currencies, suffixes = Counter[str](), Counter[str]()
    for text, one in amounts.items():
        currencies[one.currency] += counts[text]
        suffixes[one.unit] += counts[text]
    signs = [sign for sign, _ in currencies.most_common() if sign]
    if len({currency_code(sign) for sign in signs}) > 1:
        return f"The column has several currencies ({', '.join(sorted(signs)[:5])}), so it is read as text."
    currency = signs[0] if signs else ""
    all_scales = any(suffixes) and all(not suffix or suffix in _SCALES for suffix in suffixes)
    if all_scales and (currency or len(suffixes) > 1 or not set(suffixes) <= _AMBIGUOUS_SCALES):
        return _Unit(currency, currency, "", scaled=True)
    suffix = suffixes.most_common(1)[0][0]
    return _Unit(" ".join(filter(None, (currency, suffix))), currency, suffix, scaled=False)


def find_decimal_mark(digits: Collection[str], hint: str = "", money: bool = False) -> tuple[str, bool]:
    """Return the decimal mark of numbers as written, and True if it is certain.

    In a number such as `1.234`, the point may be a decimal mark or a thousands separator. Other numbers of the column
    decide, else `hint`, else the English convention.
    """
    votes = Counter(vote for one in digits if ("." in one or "," in one) and (vote := _guess_decimal_mark(one)))
    if votes["."] or votes[","]:
        return ("." if votes["."] >= votes[","] else ","), True
    if not votes:
        return hint or ".", True
    open_marks = {vote[1] for vote in votes}
    if len(open_marks) > 1:  # 1,234 and 1.234 in one column
        return hint or ".", False
    mark = open_marks.pop()
    whole = [len(one.lstrip("-")) for one in digits if "." not in one and "," not in one]
    # The column also has 1234 without a separator, so the point in 1.234 is a decimal mark.
    if any(length > 3 for length in whole):
        return mark, True
    other = "," if mark == "." else "."
    if money and any(one.lstrip("-").find(mark) > 1 for one in digits):
        return other, True  # amounts of money have two decimals. Prices per litre have three, but only one digit before
    if hint:
        return hint, True
    return ".", False


def _guess_decimal_mark(one: str) -> str:
    """Return the decimal mark of a number, or "" if the text is not a number.

    If the mark may also separate thousands, return `?` before it: `?.` for `1.234`.
    """
    one = one.lstrip("-")
    last = max(one.rfind("."), one.rfind(","))
    mark, other = one[last], "," if one[last] == "." else "."
    if other in one:
        return mark if one.count(mark) == 1 else ""
    if one.count(mark) > 1:
        return other
    whole, part = one[:last], one[last + 1 :]
    return "?" + mark if len(part) == 3 and 1 <= len(whole) <= 3 and whole[0] != "0" else mark


def _to_decimal(amount: Amount, mark: str, scaled: bool) -> Decimal | None:
    digits, group = amount.digits, "," if mark == "." else "."
    if group in digits:
        if not _GROUPED[mark].fullmatch(digits):
            return None
        digits = digits.replace(group, "")
    digits = digits.replace(",", ".")
    scale = amount.exponent + (_SCALES[amount.unit] if scaled and amount.unit else 0)
    try:
        value = Decimal(f"{digits}E{scale}" if scale else digits)  # exact for any number of digits, unlike arithmetic
    except InvalidOperation:
        return None
    return Decimal(int(value)) if scale and int(value.as_tuple().exponent) > 0 else value


_ERROR: Final = re.compile(r"#(?:DIV/0!|REF!|NAME\?|VALUE!|NUM!|NULL!|N/A|GETTING_DATA|SPILL!|CALC!)")


def is_error(text: str) -> bool:
    """Return True if a text is an error value of a spreadsheet, such as `#DIV/0!`."""
    return text.startswith("#") and bool(_ERROR.fullmatch(text.strip()))


# Durations

_CLOCK_SPAN: Final = re.compile(r"(-)?(?:(\d+) days?,? )?(\d+):(\d\d)(?::(\d\d(?:[.,]\d+)?))?")
_WORD_SPAN: Final = re.compile(
    r"(?:(\d+)\s?d(?:ays?)?)?\s*(?:(\d+)\s?h(?:rs?|ours?)?)?\s*(?:(\d+)\s?m(?:in)?)?\s*(?:(\d+)\s?s(?:ec)?)?"
)
_SPAN_NAME: Final = re.compile(
    r"(?i)durat|length|watch|elapsed|time (on|spent)|dauer|länge|zeit auf|durée|laufzeit|\bhours|worked|stunden|session"
    r"|engagement"
)
_HOURS_NAME: Final = re.compile(r"(?i)\bhours?\b|worked|stunden|heures|\bh\b")


def is_duration_name(name: str) -> bool:
    """Return True if the name of a column says that times such as `12:30` are durations."""
    return bool(_SPAN_NAME.search(name))


def _read_durations(name: str, counts: Mapping[str, int]) -> ColumnReading | None:
    """Interpret the texts as durations in seconds, such as `1:02:03`, `0:45` or `1h 20m`, or return None."""
    found = {text: span for text in counts if not is_empty(text) and (span := _parse_span(text.strip()))}
    filled = sum(count for text, count in counts.items() if not is_empty(text))
    if not found or sum(counts[text] for text in found) < SHARE * filled:
        return None
    clocks = [span for span in found.values() if span.re is _CLOCK_SPAN]
    in_three = any(span[5] for span in clocks)
    in_two = any(not span[5] for span in clocks)
    beyond_a_day = any(span[1] or span[2] or int(span[3]) > 23 for span in clocks)
    if clocks and not (is_duration_name(name) or beyond_a_day or (in_three and in_two)) and len(clocks) == len(found):
        return None  # they are times of day
    hours_first = bool(_HOURS_NAME.search(name))
    values: dict[str, Value] = dict.fromkeys(counts)
    for text, span in found.items():
        values[text] = _seconds(span, hours_first)
    notes = ["Durations are read as seconds."]
    doubt = ""
    if in_two and not in_three and not hours_first:
        example = next(text for text, span in found.items() if span.re is _CLOCK_SPAN).strip()
        doubt = f"Is {example} hours or minutes? No cell tells. It is read as minutes and seconds."
        notes.append(doubt)
    decimals = max(-int(one.as_tuple().exponent) for one in values.values() if isinstance(one, Decimal))
    return ColumnReading("number", values, "s", decimals, notes=tuple(notes), doubt=doubt)


def _parse_span(text: str) -> re.Match[str] | None:
    if not text or (not text[0].isdigit() and text[0] != "-"):
        return None
    if found := _CLOCK_SPAN.fullmatch(text):
        return found
    # A duration with units needs two parts, because `5m` alone may be five metres or five minutes.
    found = _WORD_SPAN.fullmatch(text)
    return found if found and sum(part is not None for part in found.groups()) > 1 else None


def _seconds(span: re.Match[str], hours_first: bool) -> Decimal:
    if span.re is _WORD_SPAN:
        days, hours, minutes, seconds = (int(part or 0) for part in span.groups())
        return Decimal(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    first, second = int(span[3]), int(span[4])
    if span[5]:
        length = first * 3600 + second * 60 + Decimal(span[5].replace(",", "."))
    else:
        length = Decimal(first * 3600 + second * 60 if hours_first or span[2] else first * 60 + second)
    length += int(span[2] or 0) * 86400
    return -length if span[1] else length


# Dates and times

MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar jänner janvier janv enero ene gennaio gen januari janeiro",
            "feb february februar février fevrier févr fevr fév febrero febbraio februari fevereiro fev",
            "mar march märz maerz mär mrz mars marzo maart mrt março",
            "apr april avril avr abril abr aprile",
            "may mai mayo maggio mag mei maio",
            "jun june juni juin junio giugno giu junho",
            "jul july juli juillet juil julio luglio lug julho",
            "aug august août aout agosto ago augustus",
            "sep sept september septembre septiembre settembre set setembro",
            "oct october okt oktober octobre octubre ottobre ott outubro out",
            "nov november novembre noviembre novembro",
            "dec december dez dezember décembre déc diciembre dic dicembre dezembro",
        ),
        1,
    )
    for name in names.split()
}
"""Maps the names of months, in several languages, to their numbers."""
_DATE_NAME: Final = re.compile(r"(?i)date|datum|day\b|tag\b|fecha|jour|dia\b")
_WEEKDAY: Final = re.compile(r"(?:[^\W\d_]{2,10}\.?,?\s+)(?=\d|[^\W\d_]{3,10}\.?\s+\d)")
_TIME: Final = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?(?:\s*Uhr)?\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
)
_DAY_SHAPES: Final = tuple(
    re.compile(rf"(?:{shape})(?:(?:,?\s+(?:at\s+|um\s+)?|T){_TIME})?")
    for shape in (
        r"(?P<y>\d{4})(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})",
        r"(?P<a>\d{1,2})(?P<sep>[-/.])\s?(?P<b>\d{1,2})(?P=sep)\s?(?P<y>\d{4}|\d{2})",
        r"(?P<d>\d{1,2})(?:\.|st|nd|rd|th|er)?[\s-]+(?:de\s+)?(?P<name>[^\W\d_]{3,10})\.?,?[\s-]+(?:de[l]?\s+)?(?P<y>\d{4}|\d{2})",
        r"(?P<name>[^\W\d_]{3,10})\.?\s+(?P<d>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<y>\d{4})",
        r"(?P<y>\d{4})[\s-](?P<name>[^\W\d_]{3,10})\.?[\s-](?P<d>\d{1,2})",
        r"(?P<y>\d{4})年(?P<m>\d{1,2})月(?P<d>\d{1,2})日",
    )
)
_MONTH_SHAPES: Final = (
    re.compile(r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})"),
    re.compile(r"(?P<m>\d{1,2})[-/.](?P<y>\d{4})"),
    re.compile(r"(?P<name>[^\W\d_]{3,10})\.?,?[\s-]+(?:de[l]?\s+)?(?P<y>\d{4})"),
    re.compile(r"(?P<name>[^\W\d_]{3,10})\.?[-’'](?P<y>\d{2})"),
    re.compile(r"(?P<y>\d{4})[\s-]+(?P<name>[^\W\d_]{3,10})\.?"),
)
_TIME_OF_DAY: Final = re.compile(_TIME)
_CENTURY: Final = 69
"""Two-digit years from this number on are in the 20th century, as in POSIX."""


class WrittenDate(NamedTuple):
    """A date as written. If `open` is True, `month` and `day` may have to be swapped."""

    year: int
    month: int
    day: int
    open: bool = False
    clock: time | None = None
    month_only: bool = False
    short_year: bool = False


@lru_cache(100_000)
def parse_date(text: str) -> WrittenDate | time | None:
    """Parse a date or a time of day, or return None if the text is neither."""
    text = text.strip()
    if not 4 <= len(text) <= _CELL_MAX or not any(char.isdigit() for char in text):
        return None
    if found := _TIME_OF_DAY.fullmatch(text):
        return _clock(found)
    for shape in (*_DAY_SHAPES, *_MONTH_SHAPES):
        found = shape.fullmatch(text)
        if not found and (weekday := _WEEKDAY.match(text)):
            found = shape.fullmatch(text, weekday.end())
        if found:
            return _written_date(found)
    return None


def is_date(text: str) -> bool:
    """Return True if a single cell is a date or a time."""
    return parse_date(text) is not None


def _written_date(found: re.Match[str]) -> WrittenDate | None:
    parts = found.groupdict()
    clock = _clock(found) if parts.get("hour") else None
    if parts.get("hour") and clock is None:
        return None
    year, short = int(parts["y"]), len(parts["y"]) == 2
    if short:
        year += 1900 if year >= _CENTURY else 2000
    if parts.get("a"):
        first, second = int(parts["a"]), int(parts["b"])
        dotted = parts["sep"] == "."
        month, day = (second, first) if dotted else (first, second)
        made = WrittenDate(year, month, day, not dotted, clock, False, short)
    else:
        month = MONTHS.get(parts["name"].casefold(), 0) if parts.get("name") else int(parts["m"])
        made = WrittenDate(year, month, int(parts.get("d") or 1), False, clock, "d" not in parts, short)
    return made if _to_date(made, False) or (made.open and _to_date(made, True)) else None


def _to_date(one: WrittenDate, day_first: bool) -> date | None:
    month, day = (one.day, one.month) if one.open and day_first else (one.month, one.day)
    try:
        return date(one.year, month, day)
    except ValueError:
        return None


def _clock(found: re.Match[str]) -> time | None:
    hour, half = int(found["hour"]), (found["half"] or "").lower().replace(".", "")
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + (12 if half == "pm" else 0) if half else hour
    fraction = int((found["fraction"] or "0").ljust(6, "0")[:6])
    zone = found["zone"]
    offset: timezone | None = None
    if zone:
        length = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:])) if zone[0] in "+-" else timedelta()
        if length >= timedelta(days=1):
            return None
        offset = timezone(-length if zone[0] == "-" else length) if length else UTC
    try:
        return time(hour, int(found["minute"]), int(found["second"] or 0), fraction, offset)
    except ValueError:
        return None


def _is_compact_date(name: str, counts: Mapping[str, int]) -> bool:
    """Return True if the texts are numbers such as 20260131 and the column's name says that they are dates."""
    first = next((text.strip() for text in counts if not is_empty(text)), "")
    return bool(re.fullmatch(r"(?:19|20|21)\d{6}", first) and _DATE_NAME.search(name))


def is_serial_date(name: str, numbers: Iterable[Decimal]) -> bool:
    """Return True if a column's name and numbers suggest dates as in spreadsheets: days since 1899-12-30."""
    named = re.fullmatch(r"(?i).*\b(date|datum|fecha|data)", name.strip())
    return bool(named) and all(36_526 <= number < 73_051 for number in numbers)  # 2000 to 2099


def _read_dates(name: str, counts: Mapping[str, int], hint: bool | None) -> ColumnReading | None:
    filled = {text: count for text, count in counts.items() if not is_empty(text)}
    compact = _is_compact_date(name, counts)
    sample = [text for text, _ in zip(filled, range(1000), strict=False)]
    if not sample or sum(1 for text in sample if _parse(text, compact)) * 2 < len(sample):
        return None
    found = {text: one for text in filled if (one := _parse(text, compact))}
    if sum(filled[text] for text in found) < SHARE * sum(filled.values()):
        return None
    written = {text: one for text, one in found.items() if isinstance(one, WrittenDate)}
    if not written:
        times = {text: one for text, one in found.items() if isinstance(one, time)}
        zones = {one.tzinfo for one in times.values()}
        unit = _offset_name(zones.pop()) if len(zones) == 1 else ""
        plain = {text: one.replace(tzinfo=None) for text, one in times.items()}
        return ColumnReading("time", {text: plain.get(text) for text in counts}, unit)
    if not all(one.month_only for one in written.values()):
        written = {text: one for text, one in written.items() if not one.month_only}
    return _to_dates(counts, written, hint)


def _parse(text: str, compact: bool) -> WrittenDate | time | None:
    if compact:
        text = text.strip()
        return parse_date(f"{text[:4]}-{text[4:6]}-{text[6:]}")
    return parse_date(text)


def _to_dates(counts: Mapping[str, int], written: Mapping[str, WrittenDate], hint: bool | None) -> ColumnReading:
    """Decide for the whole column whether the day or the month comes first, then interpret the texts as dates."""
    opened = {text: one for text, one in written.items() if one.open}
    firsts = sum(counts[text] for text, one in opened.items() if one.month > 12)
    seconds = sum(counts[text] for text, one in opened.items() if one.day > 12)
    example = next((one for one in opened.values() if one.month != one.day), None)
    day_first: bool | None = None
    notes = []
    doubt = ""
    if firsts or seconds:
        day_first = firsts > seconds
    elif example:
        day_first = hint
        if hint is None:
            doubt = "Does the day or the month come first? No cell tells. The month is read first."
            notes.append(doubt)
    with_clock = any(one.clock and one.clock.replace(tzinfo=None) != time(0) for one in written.values())
    zones = {one.clock.tzinfo for one in written.values() if one.clock}
    values: dict[str, Value] = dict.fromkeys(counts)
    for text, one in written.items():
        if (day := _to_date(one, bool(day_first))) is not None:
            values[text] = _moment(day, one.clock, len(zones) > 1) if with_clock else day
    if any(one.short_year and not one.month_only for one in written.values()):
        notes.append(f"Two-digit years are read as 19{_CENTURY} to 20{_CENTURY - 1}.")
    unit = "month" if all(one.month_only for one in written.values()) else ""
    if with_clock and zones != {None}:
        unit = _offset_name(zones.pop()) if len(zones) == 1 else "UTC"
        if len(zones) > 1:
            notes.append("The times have different UTC offsets. They are given in UTC.")
    undecided = bool(example) and not firsts and not seconds
    return ColumnReading(
        "datetime" if with_clock else "date", values, unit, day_first=day_first, sure=not undecided,
        notes=tuple(notes), doubt=doubt,
    )  # fmt: skip


def _moment(day: date, clock: time | None, to_utc: bool) -> datetime:
    moment = datetime.combine(day, clock or time(0))
    if to_utc and moment.tzinfo and 1 < moment.year < 9999:
        moment = moment.astimezone(UTC)
    return moment.replace(tzinfo=None)


def _offset_name(zone: object) -> str:
    if not isinstance(zone, timezone):
        return ""
    return "UTC" if zone is UTC else datetime(2000, 1, 1, tzinfo=zone).isoformat()[-6:]
