"""Find totals (rows that only add up others), so that no amount is counted twice.

A row is suspect if its label contains a word for totals or is blank, if the rows below it are indented, or if it is the
last row. Arithmetic then decides, with a stack of "open" rows, which no total has added up yet. If a suspect row is the
sum of the last k open rows, it is a total and replaces them on the stack. In this way, totals are found on several
levels. Rows are processed from the top and from the bottom, because totals may be below or above the rows that they add
up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Final

from agentsvc_nb.documents.tables.model import Cell, ReadColumn, cell_at, is_filled, text_of
from agentsvc_nb.documents.tables.summaries import LINES_MAX, ROWS_MAX, find_periods, find_summaries, find_unnamed_sums
from agentsvc_nb.documents.tables.values import CURRENCY_CODES, read_number


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SUM_WORDS: Final = _word_set(
    "total totals totaal totale totali totaux totales suma sum summe summa somme subtotal subtotals gesamt insgesamt"
    " gesamtsumme gesamtergebnis ergebnis zwischensumme teilergebnis endsumme sous-total subtotaal razem ogółem celkem"
    " spolu összesen toplam ukupno yhteensä totalt sammanlagt итого всего σύνολο kopā kokku jumlah tổng overall all"
    " alle tous todos 合計 合计 总计 總計 小計 小计 計 합계 총계 المجموع"
)
_MEAN_WORDS: Final = _word_set(
    "average averages avg mean durchschnitt mittelwert moyenne media promedio gemiddelde średnia genomsnitt 平均"
)
_FILLERS: Final = _word_set(
    "grand report column row for of the all rows campaigns campaign account general général générale and und der"
    " eur usd € $"
)
_COMPOUND: Final = re.compile(r"(summe|ergebnis|-total)$")
_LABEL_MAX: Final = 100
_PRECISION: Final = 120
LONG: Final = 20_000
"""In a table with more rows than this, the rows between two suspect rows are first added up to one line."""
_SUSPECTS_MAX: Final = 2_000
_ENDINGS_MAX: Final = 30
_IMPROBABLE: Final = 50
"""With odds above this (see `_Decision._odds`), a row without a word for totals is a total and not a coincidence."""
_CERTAIN: Final = 1_000
"""With odds above this, matching numbers are not a coincidence, even if other signs contradict a total."""


@dataclass(slots=True)
class Line:
    """The numbers of one row, or the sums of all rows between two rows that may be totals."""

    numbers: Mapping[int, Decimal | None]
    """The row's number in each column of numbers, or the sum of the rows."""
    rows: int = 1
    largest: Mapping[int, Decimal] = field(default_factory=dict)
    """If the line is several rows: the largest absolute number in each column."""

    def peak(self, column: int) -> Decimal:
        return self.largest[column] if self.largest else abs(self.numbers[column] or Decimal(0))


@dataclass(slots=True)
class Suspects:
    """The indexes of lines that may be totals, by the reason why."""

    worded: set[int] = field(default_factory=set)
    """Lines whose label contains a word for totals or means."""
    exact: set[int] = field(default_factory=set)
    """Lines whose label contains a word for totals, and apart from that only names (of columns or other rows) and
    fillers such as "the"."""
    means: set[int] = field(default_factory=set)
    hollow: set[int] = field(default_factory=set)
    """Lines that lack a label in a column in which most lines have one."""
    heads: set[int] = field(default_factory=set)
    """Lines that are totals by structure, such as the first row of a group that adds up the indented rows below."""
    periods: set[int] = field(default_factory=set)
    """Lines of quarters or years whose months are lines, too."""
    rates: set[int] = field(default_factory=set)
    """The columns of percentages, whose totals are not sums."""
    odd: set[int] = field(default_factory=set)
    """Lines with a word for totals in a column in which all other lines have numbers or dates."""

    def add_worded(self, place: int, label: str, first: str, is_named: bool, is_strict: bool) -> None:
        """Add a line whose label contains a word for totals.

        Args:
            place: The index of the line.
            label: The text of the cell with the word.
            first: The text of the line's first cell with such a word, perhaps in another column.
            is_named: True if the other words of the label are names (see `is_only_names`).
            is_strict: True if all other lines have numbers or dates in the label's column.
        """
        self.worded.add(place)
        if is_named and label == first:
            self.exact.add(place)
        if is_mean(label):
            self.means.add(place)
        if is_named and is_strict:
            self.odd.add(place)


@dataclass(slots=True)
class TotalRows:
    """Holds the indexes of the rows that are totals, and of the rows about which the user gets a note."""

    totals: set[int]
    unproven: list[int] = field(default_factory=list)
    """Rows of `totals` that are clearly totals by label and position, although no other rows add up to them."""
    kept: list[int] = field(default_factory=list)
    """Rows that are called totals but add up no other rows, so they count as data."""
    doubted: list[int] = field(default_factory=list)
    """Rows of `totals` that may be data: they are called totals, but no other rows add up to them."""
    unnamed: list[int] = field(default_factory=list)
    """Rows that count although they are the sums of the rows above, because they are not called totals."""
    unchecked: int = 0
    """The number of rows that are called totals but were not checked, because the table is too large."""


def find_totals(rows: Sequence[Sequence[Cell]], columns: Sequence[ReadColumn], footer_rows: int = 0) -> TotalRows:
    """Find the rows that only add up other rows. The last `footer_rows` rows are always totals."""
    numeric = [at for at, column in enumerate(columns) if column.kind == "number"]
    labels = [at for at, column in enumerate(columns) if column.kind != "number"]
    if not numeric or len(rows) < 2:
        return TotalRows(set())
    suspects = _find_suspects(rows, columns, labels)

    def line(place: int) -> Line:
        return Line({at: _number(columns[at], place) for at in numeric})

    def run(begin: int, end: int) -> Line:
        numbers = {at: [n for n in columns[at].values[begin:end] if isinstance(n, Decimal)] for at in numeric}
        return Line(
            {at: sum(found, Decimal(0)) if found else None for at, found in numbers.items()},
            end - begin,
            {at: max(map(abs, found), default=Decimal(0)) for at, found in numbers.items()},
        )

    def texts(place: int) -> list[str]:
        return [text_of(rows[place][at]) for at in labels]

    with localcontext(prec=_PRECISION):
        numbers = [line(place).numbers for place in range(len(rows))]
        summaries = find_summaries(rows, columns, numbers, has_total_word)
        if len(rows) <= LONG:
            lines = [Line(one) for one in numbers]
            suspects.heads = _find_indented_heads(rows, labels, lines) | summaries
            suspects.periods = set(find_periods(rows, columns)) - suspects.heads
            suspects.exact |= suspects.periods
            suspects.worded |= suspects.periods
            found = decide_totals(lines, suspects, [texts(place) for place in range(len(rows))])
            if not found.totals:
                found.unnamed = find_unnamed_sums(columns, numbers)
        else:
            found = decide_in_runs(len(rows), suspects, line, run, texts)
            found.totals |= summaries
            found.kept = [place for place in found.kept if place not in summaries]
            found.doubted = [place for place in found.doubted if place not in summaries]
            too_many = len(suspects.worded) > 2 * _SUSPECTS_MAX
            if too_many or len(rows) > ROWS_MAX:
                found.unchecked = sum(at < len(rows) - LINES_MAX for at in suspects.exact - found.totals)
    if footer_rows and len(rows) > footer_rows:
        found.totals |= set(range(len(rows) - footer_rows, len(rows)))
    return found if len(found.totals) < len(rows) else TotalRows(set())


def describe_unchecked(count: int) -> str:
    """Return a sentence that says how many rows are called totals and were not checked."""
    called, were = ("1 row is called a total", "was") if count == 1 else (f"{count:,} rows are called totals", "were")
    return f"{called}, and {were} not checked, because the file is large."


def decide_in_runs(
    count: int,
    suspects: Suspects,
    line: Callable[[int], Line],
    run: Callable[[int, int], Line],
    texts: Callable[[int], list[str]],
) -> TotalRows:
    """Find the totals of a long table. To save time, the rows between two suspect rows are first added up to one line.

    Args:
        count: The number of rows.
        suspects: The suspect rows, by index.
        line: Returns the numbers of a row.
        run: Returns the sums of the rows from a begin up to an end (exclusive).
        texts: Returns the texts of a row's label columns.
    """
    if len(suspects.hollow) > _SUSPECTS_MAX:
        suspects.hollow &= {0, count - 1}
    marked = sorted(suspects.worded | suspects.hollow | {0, count - 1})
    if len(marked) > 2 * _SUSPECTS_MAX:
        return TotalRows(set())
    lines: list[Line] = []
    labels: list[list[str]] = []
    place_of: dict[int, int] = {}
    begin = 0
    for place in marked:
        if begin < place:
            lines.append(run(begin, place))
            labels.append([""] * len(texts(place)))
        place_of[place] = len(lines)
        lines.append(line(place))
        labels.append(texts(place))
        begin = place + 1

    def moved(places: set[int]) -> set[int]:
        return {place_of[place] for place in places}

    inner = Suspects(*map(moved, (suspects.worded, suspects.exact, suspects.means, suspects.hollow)))
    inner.odd, inner.rates = moved(suspects.odd), suspects.rates
    row_of = {at: place for place, at in place_of.items()}
    with localcontext(prec=_PRECISION):
        found = decide_totals(lines, inner, labels)
    return TotalRows(
        {row_of[at] for at in found.totals if at in row_of},
        [row_of[at] for at in found.unproven],
        [row_of[at] for at in found.kept],
        [row_of[at] for at in found.doubted],
    )


def _number(column: ReadColumn, place: int) -> Decimal | None:
    """Return the number in row `place`. A number without the column's unit, as in some totals, counts too."""
    value = column.values[place]
    if value is None and isinstance(cell := column.cells[place], str) and is_filled(cell):
        return read_number(cell, column.decimal_mark)
    return value if isinstance(value, Decimal) else None


def _find_suspects(rows: Sequence[Sequence[Cell]], columns: Sequence[ReadColumn], labels: Sequence[int]) -> Suspects:
    found = Suspects(rates={at for at, column in enumerate(columns) if column.unit == "%"})
    names = label_names(column.name for column in columns)
    groups: set[str] | None = None
    for at, column in enumerate(columns):
        hits = {cell for cell in set(column.cells) if isinstance(cell, str) and has_total_word(cell)}
        stars = {cell for cell in hits if is_starred(cell)}
        if at or sum(cell in stars for cell in column.cells) * 2 >= len(rows):
            hits -= stars  # ratings or marks
        if not hits:
            continue
        if groups is None:
            groups = {
                " ".join(_words(cell)) for key in labels for cell in set(columns[key].cells) if isinstance(cell, str)
            }
        kinds = {cell: is_only_names(cell, names, groups) for cell in hits}
        places = [place for place, cell in enumerate(column.cells) if isinstance(cell, str) and cell in hits]
        others = [value for place, value in enumerate(column.values) if value is not None]
        strict = column.kind != "text" and len(others) + len(places) >= len(rows)
        for place in places:
            first = next((text_of(cell) for cell in rows[place] if isinstance(cell, str) and has_total_word(cell)), "")
            label = text_of(rows[place][at])
            found.add_worded(place, label, first, kinds[rows[place][at]], strict)  # type: ignore[index]
    for at in labels:
        empty = {place for place, row in enumerate(rows) if not text_of(row[at]).strip("-—– ")}
        if 0 < len(empty) * 2 < len(rows):
            # A total lacks labels from some column on to the right. If only labels further left are missing, it may be
            # a row of data that does not repeat them.
            found.hollow |= {place for place in empty if at == labels[-1] or is_filled(cell_at(rows[place], labels[0]))}
    if not labels:  # then all columns are numbers, and a total may lack only its id
        for column in columns:
            empty = {place for place, value in enumerate(column.values) if value is None}
            found.hollow |= empty & {0, len(rows) - 1} if len(empty) == 1 else set()
    found.hollow -= found.worded
    return found


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


_SPLIT: Final = re.compile(r"[\s:;,.()\[\]–—*/]+")


def _label_words(cell: str) -> list[str]:
    return [word for word in _SPLIT.split(cell.casefold()) if word]


def _is_total_word(word: str) -> bool:
    return word in _SUM_WORDS or word in _MEAN_WORDS or bool(_COMPOUND.search(word))


def label_names(columns: Iterable[str]) -> set[str]:
    """Return the words that may appear next to a word for totals: the words of column names in singular and plural, and
    currency codes."""
    words = {word for column in columns for word in _words(column)}
    plurals = {f"{word[:-1]}ies" if word.endswith("y") else f"{word}s" for word in words}
    return words | plurals | {code.casefold() for code in CURRENCY_CODES}


def is_mean(label: str) -> bool:
    """Return True if a label contains a word for a mean."""
    return any(word in _MEAN_WORDS for word in _words(label))


def has_total_word(cell: str) -> bool:
    """Return True if a label contains a word for totals or means, or consists of asterisks, as in SAP."""
    return len(cell) < _LABEL_MAX and (is_starred(cell) or any(map(_is_total_word, _label_words(cell))))


def is_starred(cell: str) -> bool:
    """Return True if a label consists of asterisks."""
    return bool(re.fullmatch(r"\*+", cell.strip()))


def is_only_names(cell: str, names: set[str], groups: Container[str]) -> bool:
    """Return True if the words next to a word for totals are names: `North Total`, but not the product `Total Wine`."""
    if (head := re.match(r"\W*([\w-]+)\s*:", cell)) and head[1].casefold() in _SUM_WORDS:
        return True  # an example is `Total: Search campaigns`
    rest = [
        word for word in _label_words(cell)
        if not _is_total_word(word) and word not in _FILLERS and not re.fullmatch(r"[\d-]+", word)
    ]  # fmt: skip
    words = [part for word in rest for part in _words(word)]
    return all(word in names for word in words) or " ".join(words) in groups


def decide_totals(lines: Sequence[Line], suspects: Suspects, labels: Sequence[Sequence[str]]) -> TotalRows:
    """Return which suspect lines are totals. `labels` has the texts of each line's label columns."""
    return _Decision(lines, suspects, labels).decide()


class _Decision:
    """Decides which lines of a table are totals. Holds the lines, and the reasons why some are suspect."""

    def __init__(self, lines: Sequence[Line], suspects: Suspects, labels: Sequence[Sequence[str]]) -> None:
        self.lines, self.suspects, self.labels = lines, suspects, labels
        self.count, self.last = len(lines), len(lines) - 1
        self.columns = list(lines[0].numbers)
        exact = suspects.exact
        leading = next((at for at in range(self.count) if at not in exact), self.count)
        trailing = next((at for at in reversed(range(self.count)) if at not in exact), -1)
        self.edges = {at for at in exact if at < leading or at > trailing} | {0, self.last}
        self.trusts_hollow = False
        self.proven: dict[int, list[int]] = {}
        """The lines that each total adds up."""
        self.several = len(labels[0]) > 1 or len(exact) > 1

    def decide(self) -> TotalRows:
        suspects = self.suspects
        self.looked_at = (suspects.worded | suspects.hollow) - suspects.heads
        down = range(self.count)
        first, second = sorted((down, down[::-1]), key=lambda order: -len(self._reduce(order, suspects.heads)))
        found = suspects.heads | self._reduce(first, suspects.heads)
        found |= self._reduce(second, found)
        if suspects.hollow - found:
            found |= self._find_all_blank(found)
        inner = {at for at in suspects.hollow if 0 < at < self.last}
        if suspects.hollow - found and inner & found:
            found -= inner  # other rows without a label are data in this table, so these are data, too
        found |= self._find_unworded_total(found)
        found |= {head for at in sorted(suspects.exact & found) if (head := self._find_repeated_head(at)) is not None}
        if len(found) >= self.count:
            return TotalRows(set(), kept=sorted(suspects.exact - found))
        if len(found) == 1:
            found |= self._find_nested_heads(found)
        rest = [at for at in range(self.count) if at not in found]
        unproven = [
            at for at in sorted(suspects.worded & found)
            if at not in self.proven and self._is_grand_total(at, rest) and not self._fit(at, rest)[0]
        ]  # fmt: skip
        found |= {at for at in suspects.exact & self.edges if not any(self.lines[at].numbers.values())}
        doubted = [
            at for at in sorted(suspects.exact - found)
            if self._is_placed_as_total(at, found) and self._may_be_total(at, found)
        ]  # fmt: skip
        if len(found) + len(doubted) == self.count:
            doubted = []
        found |= set(doubted)
        return TotalRows(found, unproven, sorted(suspects.exact - found), doubted)

    def _reduce(self, order: Iterable[int], done: set[int]) -> set[int]:
        """Return the totals among the lines: process them in `order` with a stack of open lines, on which each total
        replaces the lines that it adds up."""
        still: list[int] = []
        found: set[int] = set()
        for at in order:
            span = self._find_span(at, still) if at in self.looked_at and at not in done and still else []
            if span:
                found.add(at)
                if self._fit(at, span)[0]:
                    self.proven[at] = span
                    if at not in self.suspects.means:
                        still[-len(span) :] = [at]
            elif at not in done:
                still.append(at)
        return found

    def _find_all_blank(self, found: set[int]) -> set[int]:
        """Return all lines without a label if each of them adds up other lines. Otherwise, return an empty set.

        Also return an empty set if so few digits are equal that this may be a coincidence.
        """
        hollow = self.suspects.hollow
        odds = 1
        for at in hollow:
            odds *= self._odds(at)
        if len(hollow) < 2 or odds < _CERTAIN:
            return set()
        self.trusts_hollow = True
        both = [self._reduce(order, found - hollow) for order in (range(self.count), range(self.count)[::-1])]
        self.trusts_hollow = False
        return next((one for one in both if hollow <= one), set())

    def _find_span(self, at: int, still: list[int]) -> list[int]:
        """Return the open lines that the suspect line `at` adds up, or [] if it is data."""
        suspects, exact = self.suspects, at in self.suspects.exact
        texts = self.labels[at]
        sparse = self._is_sparse(at)
        for size in self._matching_sizes(at, still):
            span = still[-size:]
            rows = sum(self.lines[one].rows for one in span)
            hits, misses = self._fit(at, span)
            if exact and at in self.edges and size == len(still) and hits >= max(misses, 1):
                return span  # a grand total, although its rates are not sums
            edge = at in (0, self.last)
            whole = edge and at in suspects.hollow and size == len(still) and rows > 1
            most = hits > misses or (hits and not any(texts) and self._count_peaks(at, span) == len(self.columns))
            if whole and most and self._odds(at, span) >= _CERTAIN:
                return span  # a grand total without a word for totals
            if not hits or misses:
                continue
            named = exact and self.several and (rows > 1 or len(texts) > 1)
            certain = at in self.edges or self._odds(at) > _CERTAIN
            worded = at in suspects.worded and (sparse or (certain and hits > 1 and rows > 1))
            telling = (hits > 1 or edge) and self._odds(at) > _IMPROBABLE
            telling = telling or (edge and not any(texts) and size == len(still) and rows > 2)
            hollow = at in suspects.hollow and rows > 1 and (telling or self.trusts_hollow)
            if named or worded or hollow:
                return span
        return still[-1:] if self.count > 2 and self._is_grand_total(at, still) else []

    def _matching_sizes(self, at: int, still: list[int]) -> list[int]:
        """Return how many open lines, counted from the last, the suspect line `at` may add up: all possible numbers.

        A number of lines is possible if the sum of these lines equals the suspect's number in any column. If there are
        many such numbers, only the smallest ones are returned. The number of all open lines is always returned, too.
        """
        found: set[int] = set()
        for column in self.columns:
            own = self.lines[at].numbers[column]
            if own is None or (own == 0 and at not in self.suspects.exact):
                continue
            places = max(0, -int(own.as_tuple().exponent))
            run, rows, filled = Decimal(0), 0, False
            for size, other in enumerate(reversed(still), 1):
                number = self.lines[other].numbers[column] or Decimal(0)
                run, filled = run + number, filled or number != 0
                rows += self.lines[other].rows
                if filled and abs(run - own) <= (Decimal(rows).scaleb(-places) / 2 if places else 0):
                    found.add(size)
        return [*sorted(found)[:_ENDINGS_MAX], len(still)]

    def _fit(self, at: int, span: Sequence[int]) -> tuple[int, int]:
        """Return in how many columns line `at` is the sum (or mean) of the lines in `span`, and in how many it is
        not."""
        hits = misses = 0
        for column in self.columns:
            own = self.lines[at].numbers[column]
            others = [(n, self.lines[one].rows) for one in span if (n := self.lines[one].numbers[column]) is not None]
            if own is None or not others or (own == 0 and not any(number for number, _ in others)):
                continue
            numbers, rows = [number for number, _ in others], sum(rows for _, rows in others)
            whole = sum(numbers, Decimal(0))
            places = max(0, *(-int(one.as_tuple().exponent) for one in (own, *numbers)))
            near = abs(own - whole) <= (Decimal(rows).scaleb(-places) / 2 if places else 0)
            if at in self.suspects.means:
                step = Decimal("0.51").scaleb(min(0, int(own.as_tuple().exponent)))
                near = near or abs(own - whole / rows) <= step
            # Some totals, such as "Total debits", add up only the negative numbers.
            if at in self.suspects.worded and own:
                near = near or own == sum((one for one in numbers if (one > 0) == (own > 0)), Decimal(0))
            hits, misses = hits + near, misses + (not near)
        return hits, misses

    def _is_grand_total(self, at: int, others: Sequence[int]) -> bool:
        """Return True if line `at` is a grand total although it is not the sum of the rows.

        An example is a number of unique users: somebody who is counted in several rows counts once in the total.
        """
        if at not in self.suspects.exact:
            return False
        if at in self.suspects.odd:
            return True
        said = " ".join(self.labels[at])
        worded = bool(re.search(r"(?i)grand|gesamt.|sub|zwischen|insgesamt|\w:", said))
        filled = sum(number is not None for number in self.lines[at].numbers.values())
        # half of the columns suffice, because the rate of a total is not the largest
        return worded and at in self.edges and self._count_peaks(at, others) * 2 >= filled

    def _is_placed_as_total(self, at: int, found: set[int]) -> bool:
        """Return True if line `at`, which is called a total but adds up no others, is where totals are: first or last
        in the table or a group."""
        if " ".join(self.labels[at]).casefold().strip() == "media":
            return False  # an Italian mean, or English data
        if at in self.edges or at in self.suspects.periods or self._is_sparse(at):
            return True
        keys = [key for key, text in enumerate(self.labels[at]) if text and not has_total_word(text)]
        if keys:
            alike = [
                0 <= one < self.count and all(self.labels[one][key] == self.labels[at][key] for key in keys)
                for one in (at - 2, at - 1, at + 1, at + 2)
            ]
            return alike in ([True, True, False, False], [False, False, True, True])
        # Other totals in the table add up the lines since the total above them. They don't add up this line as data.
        return bool(self.suspects.exact & found) and not any(
            at in span and at - 1 in span for span in self.proven.values()
        )

    def _is_sparse(self, at: int) -> bool:
        texts = self.labels[at]
        return sum(not text for text in texts) * 2 >= len(texts) > 1

    def _may_be_total(self, at: int, found: set[int]) -> bool:
        """Return True if the numbers of line `at` may be a total that is not a sum, such as a number of unique users.

        If most of its numbers are smaller than one of the others in their column, the line is data, unless some numbers
        are negative or all are rates.
        """
        if at in self.suspects.means | self.suspects.periods or self._is_sparse(at):
            return True
        others = [one for one in range(self.count) if one != at and one not in found]
        if at not in self.edges:
            above = [one for one in (*self.suspects.exact, *found) if one < at]
            others = list(range(max(above, default=-1) + 1, at)) or others
        filled = {column for column, number in self.lines[at].numbers.items() if number is not None}
        negative = any((self.lines[one].numbers[column] or 0) < 0 for one in others for column in filled)
        return negative or filled <= self.suspects.rates or self._count_peaks(at, others) * 2 >= len(filled)

    def _count_peaks(self, at: int, others: Sequence[int]) -> int:
        """Count the columns in which the number of line `at` is at least as large as those of the lines `others`."""
        found = 0
        for column in self.columns:
            if (number := self.lines[at].numbers[column]) is not None:
                found += abs(number) >= max((self.lines[one].peak(column) for one in others), default=Decimal(0))
        return found

    def _odds(self, at: int, span: Sequence[int] = ()) -> int:
        """Estimate how unlikely it is that the numbers of line `at` equal sums by coincidence.

        The estimate is the product of the numbers without their decimal points: 1.5 and 20 give 15 * 20. With `span`,
        consider only the columns in which the number is the sum of these lines.
        """
        odds = 1
        for column, number in self.lines[at].numbers.items():
            if number is not None and (
                not span or number == sum((self.lines[one].numbers[column] or Decimal(0) for one in span), Decimal(0))
            ):
                odds *= max(1, abs(int("".join(map(str, number.as_tuple().digits)))))
        return odds

    def _find_unworded_total(self, found: set[int]) -> set[int]:
        """Return the last line if it adds up all others in two or more columns, as a total in an unknown language does,
        else an empty set."""
        if found or len(self.columns) < 2 or sum(line.rows for line in self.lines) < 4:
            return set()
        others = [line.numbers for line in self.lines[:-1]]
        exact = [
            sum((one[column] or Decimal(0) for one in others), Decimal(0)) == own
            for column, own in self.lines[-1].numbers.items()
            if own
        ]
        return {self.last} if len(exact) > 1 and all(exact) and self._odds(self.last) > 1000 else set()

    def _find_repeated_head(self, at: int) -> int | None:
        """Return the line that begins the group of the total `at`, if that line repeats the total. Otherwise, return
        None.

        Such a line has the same numbers as the total, and its name occurs in the total's name.
        """
        if not self.labels[at]:
            return None
        name = self.labels[at][0].strip().casefold()
        for head in range(at - 2, -1, -1):
            other = self.labels[head][0].strip().casefold()
            same = all(self.lines[head].numbers[column] == self.lines[at].numbers[column] for column in self.columns)
            if other and other in name and same and self._fit(at, range(head + 1, at))[0]:
                return head
        return None

    def _find_nested_heads(self, found: set[int]) -> set[int]:
        """Return the first lines of groups without indents, if a grand total is half of the sum of all other lines."""
        plain = [at for at in range(self.count) if at not in found]
        total = next(iter(found))
        if total < plain[-1] or any(line.rows > 1 for line in self.lines):
            return set()
        columns = {column: [self.lines[at].numbers[column] or Decimal(0) for at in plain] for column in self.columns}
        for column, numbers in columns.items():
            own = self.lines[total].numbers[column]
            if own is None or own * 2 != sum(numbers, Decimal(0)):
                return set()
        heads: set[int] = set()
        at = 0
        while at < len(plain):
            size = next(
                (
                    size
                    for size in range(1, len(plain) - at)
                    if all(one[at] == sum(one[at + 1 : at + 1 + size], Decimal(0)) for one in columns.values())
                ),
                0,
            )
            if not size:
                return set()
            heads.add(plain[at])
            at += size + 1
        return heads


def _find_indented_heads(rows: Sequence[Sequence[Cell]], labels: Sequence[int], lines: Sequence[Line]) -> set[int]:
    """Return the first lines of groups in a pivot table whose indented rows add up to the first line of their group."""
    if not labels:
        return set()
    texts = [row[labels[0]] for row in rows]
    if not all(isinstance(text, str) for text in texts):
        return set()
    depths = [len(str(text)) - len(str(text).lstrip()) for text in texts]
    if len(set(depths)) < 2:
        return set()
    decision = _Decision(lines, Suspects(), [[""]] * len(lines))
    found = set()
    for at in range(len(rows) - 1):
        if depths[at + 1] <= depths[at]:
            continue
        end = next((k for k in range(at + 1, len(rows)) if depths[k] <= depths[at]), len(rows))
        hits, misses = decision._fit(at, [k for k in range(at + 1, end) if depths[k] == depths[at + 1]])
        if hits > misses:
            found.add(at)
    return found
