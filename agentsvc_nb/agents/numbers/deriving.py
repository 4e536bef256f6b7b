"""Compute a number again: a difference, change, share, ratio, mean or sum of values that the text names.

If the words hardly ask for a calculation, the number needs more digits, because short values often fit by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Final

from agentsvc_nb.agents.numbers.cells import GROUP, UNNAMED, Source, factors, fit, selections
from agentsvc_nb.agents.numbers.context import Place
from agentsvc_nb.agents.numbers.evidence import IndexedTable
from agentsvc_nb.agents.numbers.reading import Number
from agentsvc_nb.agents.numbers.words import CHANGE, EXTREME, MEAN, RATIO, SHARE, TOTAL, stems

_OPERANDS_MAX: Final = 24
_COLUMNS_MAX: Final = 12
_COMBINED_MAX: Final = 6
"""Try sums and differences of columns in tables with at most this many columns."""
_TABLES_MAX: Final = 4
_RESULTS_COMPARED: Final = 8
_MANY_ROWS: Final = 12
_SENTENCES: Final = 5
"""A number may be computed from this many sentences before it."""
_SUMMANDS_MAX: Final = 8
_REST: Final = stems("rest remaining other others everything else without except excluding")
_AND: Final = stems("and plus with or together")
_WEIGHT: Final = stems("weight weighted overall across beta")
_WORTH: Final = stems("worth value cost weight weighted average mean beta portfolio stock inventory would")
_LEAVES: Final = stems("leave free net remaining keep unused underspend minus less")


@dataclass(frozen=True, slots=True)
class Term:
    """A value to compute with, as it is shown. `unnamed` counts its columns that no nearby word names."""

    value: float
    text: str
    kind: str = ""
    currency: str = ""
    unnamed: int = 0
    columns: tuple[int, ...] = ()
    averaged: bool = False
    measure: tuple[str, float] | None = None
    whole: bool = False
    close: bool = False


def of_number(number: Number, source: Source) -> Term:
    """Return a number that was found, with the precision of its source."""
    value, exact = number.value, source.value
    for factor in (1.0, 100.0, 1e3, 1e6):
        if exact is not None and number.fits(exact * factor):
            value = exact * factor
    return Term(-value if number.negative else value, number.text, number.kind, number.currency)


def derive(
    place: Place,
    tables: Sequence[IndexedTable],
    every: Sequence[IndexedTable],
    known: Sequence[tuple[Place, Source]],
    read: Sequence[Number],
) -> Source | None:
    """Return the calculation that results in a number.

    Args:
        tables: the current results.
        every: all results, including those that later ones replaced.
        known: numbers near it whose source was found.
        read: numbers of texts that share words with its sentence.
    """
    if place.number.worded:
        return None
    for text in _of_numbers(place, known, read):
        return Source("computed", text)
    for table in _relevant(place, tables):
        for text, columns in _of_table(place, table, known):
            return Source("computed", text, table=table, call_id=table.table.call_id, columns=columns)
    for text in _of_two_results(place, every, known):
        return Source("computed", text)
    return None


def _relevant(place: Place, tables: Sequence[IndexedTable]) -> list[IndexedTable]:
    """Return the tables that the sentence most likely means."""
    scores = []
    for table in tables:
        named = max((selection.named for selection in selections(place, table) if not selection.instead), default=-1)
        columns = max((fit(column, table, place.near | place.topic) for column in table.columns), default=0.0)
        scores.append((named + min(columns, 2), table.order, table))
    return [
        table for score, _, table in sorted(scores, key=lambda one: one[:2], reverse=True)[:_TABLES_MAX] if score >= 0
    ]


Found = tuple[str, tuple[int, ...]]
"""A calculation, and the columns that it uses."""


def _of_table(place: Place, table: IndexedTable, known: Sequence[tuple[Place, Source]]) -> Iterator[Found]:
    number = place.number
    groups = _groups(place, table)
    if not groups:
        return
    terms = {name: _terms(place, table, rows, known) for name, rows in groups.items()}
    for text in _counts(place, table, groups):
        yield text, ()
    for name, rows in groups.items():
        if number.digits > 2 and any(len(one.columns) == 1 and number.fits(abs(one.value)) for one in terms[name]):
            return  # another column or row has this value, but it was not the source: do not compute it either
        yield from _of_group(place, table, terms[name], len(rows), known)
        for text in _products(place, table, rows):
            yield text, ()
    for one, other in combinations(terms.values(), 2):
        for first, second in zip(one, other, strict=False):
            if first.columns == second.columns and (len(first.columns) == 1 or not first.unnamed):
                said = difference(place, first, second)
                if not said and not (first.averaged and number.kind == "percent"):
                    said = ratio(place, first, second) or ratio(place, second, first)
                if said:
                    yield said, first.columns
    named = [each for name, each in terms.items() if not name.startswith(("all ", "the "))]
    if len(named) > 1 and (place.near & TOTAL or (place.near & _AND and number.digits > 2)):
        for same in zip(*named, strict=False):
            if same[0].averaged or len({one.columns for one in same}) > 1:
                continue
            value, text = sum(one.value for one in same), " + ".join(one.text for one in same)
            total = replace(same[0], value=value, text=text)
            if number.kind in (total.kind, "") and _fits(place, value, [total], True):
                yield text, total.columns
            for whole in terms.get("all rows", ()):
                if whole.columns == total.columns and (said := ratio(place, total, whole)):
                    yield said, total.columns
    for text in _largest(place, table, known):
        yield text, ()


def _of_group(
    place: Place, table: IndexedTable, own: Sequence[Term], rows: int, known: Sequence[tuple[Place, Source]]
) -> Iterator[Found]:
    """Yield calculations with two columns of the same rows, or with one column and the row count."""
    number = place.number
    for term in own:
        if (
            len(term.columns) > 1
            and not (term.whole and term.unnamed)
            and _fits(place, term.value, [term], number.kind in (term.kind, "", "points"))
        ):
            yield term.text, term.columns
        each = rows > 1 and not term.averaged and bool(place.near & (MEAN | RATIO))
        if each and (said := ratio(place, term, Term(float(rows), f"{rows} rows"))):
            yield said, term.columns
    named, others = [term for term in own if not term.unnamed], [term for term in own if term.unnamed]
    pairs = [*combinations(named, 2), *product(named, others)]
    again = {tuple(sorted(source.columns)): other.number for other, source in known if source.table is table}
    beside = [of_number(other.number, source) for other, source in known if other.sentence == place.sentence]
    for term, other_term in product(own, beside if number.kind == "percent" else []):
        if len(term.columns) == 1 and term.kind == other_term.kind and (said := ratio(place, term, other_term)):
            yield said, term.columns
    for first, second in pairs if number.digits < 4 else combinations(own, 2):
        shared = set(first.columns) & set(second.columns)
        columns = first.columns + second.columns
        if shared and shared not in (set(first.columns), set(second.columns)):
            continue
        other = again.get(tuple(sorted(columns)))
        if said := ratio(place, first, second, other) or ratio(place, second, first, other):
            yield said, columns
        if len(columns) > 2:
            continue
        if said := difference(place, first, second):
            yield said, columns
        part = "percent" in (first.kind, second.kind) and first.kind != second.kind and number.kind in ("", "money")
        part = part and rows == 1 and number.digits > 1
        if part and _fits(place, first.value * second.value / 100, [first, second], not first.unnamed + second.unnamed):
            yield f"{first.text} % x {second.text}", columns
        middle = bool(place.near & MEAN) and number.kind in ("", first.kind) and table.alike(*columns)
        if middle and _fits(place, (first.value + second.value) / 2, [first, second], True):
            yield f"({first.text} + {second.text}) / 2", columns


def _groups(place: Place, table: IndexedTable) -> dict[str, Sequence[int]]:
    """Return the rows that the text mentions, by the name of the group."""
    groups: dict[str, Sequence[int]] = {}
    chosen = list(selections(place, table))
    for selection in chosen:
        if selection.named != UNNAMED:
            groups.setdefault(
                "the rows named" if selection.named == GROUP else table.key(selection.rows[0]), selection.rows
            )
    for dimension, where in table.keys.items():
        said = [key for keys in place.said.get(dimension, ()) if len(keys) == 1 for key in keys]
        carried = place.carried.get(dimension, frozenset())
        for key in [*said, *(carried if len(carried) == 1 else ())][:6]:
            if key in where:
                groups.setdefault(key, _narrowed(place, table, dimension, where[key]))
                if len(table.keys) > 1:
                    groups.setdefault(f"all of {key}", where[key])
    if place.near & CHANGE:
        for dimension, where in table.keys.items():
            for key in where if len(where) == 2 else ():
                groups.setdefault(key, _narrowed(place, table, dimension, where[key]))
    unique: dict[str, Sequence[int]] = {}
    for name, rows in groups.items():
        if list(rows) not in [list(one) for one in unique.values()]:
            unique[name] = rows
    if chosen or unique:
        first = next(iter(unique.values()), None)
        if place.near & CHANGE and table.in_time and len(table.body) > 1:
            if first and len(first) == 1 and first[0] > 0:
                unique.setdefault("the row before", [first[0] - 1])
            elif not first:
                unique |= {"the first row": table.body[:1], "the last row": table.body[-1:]}
        if place.near & _REST and first:
            unique["the others"] = [row for row in table.body if row not in set(first)]
        if len(table.body) > 1:
            unique.setdefault("all rows", table.body)
    return unique


def _narrowed(place: Place, table: IndexedTable, dimension: str, rows: Sequence[int]) -> Sequence[int]:
    """Return the rows that also fit the other names in the text."""
    keys = {**place.carried, **place.rows}
    for other, where in table.keys.items():
        if other != dimension and len(rows) > 1 and (named := keys.get(other)):
            wanted = {row for key in named for row in where.get(key, ())}
            rows = [row for row in rows if row in wanted] or rows
    return rows


def _columns(
    place: Place, table: IndexedTable, rows: Sequence[int], known: Sequence[tuple[Place, Source]]
) -> list[Term]:
    """Return the values of the columns over some rows: the mean for rates and the like, else the sum."""
    used = {source.column.index for _, source in known if source.column and source.table is table}
    used |= {column for _, source in known if source.table is table for column in source.columns}
    terms: list[Term] = []
    for column in table.columns[:_COLUMNS_MAX]:
        total, count = table.total(column, rows)
        near, topic = (fit(column, table, words) for words in (place.near, place.topic))
        named = column.index in used or near > 0 or topic > 0.9
        whole = total / count if column.averaged and count else total
        kind = "percent" if column.percent or column.fraction else "money" if column.money else ""
        value = whole * 100 if column.fraction else whole * column.scale
        terms.append(
            Term(
                value,
                f"{value:,.12g}",
                kind,
                column.currency,
                unnamed=0 if named else 1,
                columns=(column.index,),
                averaged=column.averaged,
                measure=column.measure,
                close=fit(column, table, place.close) > 0,
            )
        )
    return terms


def _terms(place: Place, table: IndexedTable, rows: Sequence[int], known: Sequence[tuple[Place, Source]]) -> list[Term]:
    """Return the values of the columns. Include sums and differences of counts or money."""
    terms = _columns(place, table, rows, known)
    plain = [term for term in terms if not term.averaged and term.kind != "percent"]
    if len(plain) > _COMBINED_MAX:
        return terms
    for start in range(len(plain)):
        for end in range(start + 2, min(start + 7, len(plain) + 1)):
            part = plain[start:end]
            whole = len(part) == len(plain) > 2
            if whole or _alike(table, part):
                total, text = sum(term.value for term in part), f"({' + '.join(term.text for term in part)})"
                terms.append(_combined(part, total, text, whole=whole))
    for first, second in combinations(plain, 2):
        if _alike(table, (first, second)):
            larger, smaller = (first, second) if first.value >= second.value else (second, first)
            text = f"({larger.text} - {smaller.text})"
            terms.append(_combined((larger, smaller), larger.value - smaller.value, text))
    return terms


def _alike(table: IndexedTable, terms: Sequence[Term]) -> bool:
    """Return True if columns may be added or subtracted: the clause names all, or their names share a word."""
    columns = [column for term in terms for column in term.columns]
    same = len({(term.kind, term.measure) for term in terms}) == 1
    return same and (all(term.close for term in terms) or table.alike(*columns))


def _combined(terms: Sequence[Term], value: float, text: str, *, whole: bool = False) -> Term:
    return replace(
        terms[0],
        value=value,
        text=text,
        unnamed=0 if whole else sum(term.unnamed for term in terms),
        columns=tuple(column for term in terms for column in term.columns),
        whole=whole,
        close=all(term.close for term in terms),
    )


def _fits(place: Place, value: float, terms: Sequence[Term], asked: bool) -> bool:
    """Return True if a value is the number, and the number has enough digits for the evidence of the words."""
    number = place.number
    if not number.fits(abs(value)) or any(
        one.currency and number.currency and one.currency != number.currency for one in terms
    ):
        return False
    if len(terms) > 1 and any(number.fits(abs(one.value)) for one in terms):
        return False  # the number was not copied from this value
    unnamed = sum(one.unnamed for one in terms)
    needed = 1 + (not asked) + min(unnamed, 1) + (unnamed > 1)
    if number.value < 10 and number.step >= 1 and number.kind not in ("percent", "points"):
        needed += 1  # small whole numbers are common
    return number.digits >= needed and not number.adjectival


def difference(place: Place, first: Term, second: Term) -> str | None:
    """Return the difference or change between two values if it is the number."""
    number, x, y = place.number, first.value, second.value
    if len(first.columns) > 1 and (first.unnamed or number.kind == "percent"):
        return None
    words = place.near if number.digits > 2 or number.kind or place.cell else place.close
    asked = bool(words & (CHANGE | _LEAVES)) or number.negative is not None
    if not asked and number.digits < 4:
        return None
    percent = first.kind in ("percent", "points")
    if number.kind == "percent":
        if first.kind != second.kind:
            return None
        for a, b, p, q in ((first, second, x, y), (second, first, y, x)):
            if p and asked and _fits(place, (q - p) / abs(p) * 100, [a, b], asked):
                return f"({b.text} - {a.text}) / {a.text}"
            for years in range(2, 16) if place.near & _COMPOUND and p > 0 < q else ():
                if number.fits(abs((q / p) ** (1 / years) - 1) * 100):
                    return f"({b.text} / {a.text}) ^ (1 / {years}) - 1"
        return None
    if (
        ((number.kind == "points") != percent and percent)
        or number.kind not in ("", first.kind, "points")
        or first.kind != second.kind
    ):
        return None
    if x != y and _fits(place, y - x, [first, second], asked):
        return f"{first.text} - {second.text}" if x > y else f"{second.text} - {first.text}"
    return None


def ratio(place: Place, first: Term, second: Term, again: Number | None = None) -> str | None:
    """Return the first value divided by the second if it is the number. With `again`, compare with that number."""
    number = place.number
    if (len(second.columns) > 1 and not second.whole) or not second.value:
        return None
    written = again or number
    percent = number.kind == "percent" or (
        not number.kind and " - " in first.text and "nps" in place.near | place.topic
    )
    factor = 100.0 if percent or written.noun.lower() in ("cents", "cent", "pence") else written.per
    if written.measure and first.measure and written.measure[0] == first.measure[0]:
        factor *= first.measure[1] / written.measure[1]
    value = first.value / second.value * factor
    if not number.fits(abs(value)):
        return None
    if number.kind == "points" or (number.kind == "money" and first.kind != "money"):
        return None
    asked = bool(place.near & (SHARE if percent else RATIO | MEAN)) or place.cell is not None or number.kind == "times"
    asked = asked or (percent and first.close and abs(first.value) <= abs(second.value))
    asked = asked or again is not None or "/" in number.noun or number.noun in ("a", "an") or number.per != 1
    if not asked and number.digits < 3 and not (percent and first.unnamed + second.unnamed == 0):
        return None
    if percent and (abs(first.value) > abs(second.value) * 10 or "percent" in (first.kind, second.kind)):
        return None
    if _fits(place, value, [first, second], asked):
        return f"{first.text} / {second.text}"
    return None


def _counts(place: Place, table: IndexedTable, groups: dict[str, Sequence[int]]) -> Iterator[str]:
    """Yield the row count of a group, or of its rows above or below a number of the sentence."""
    number = place.number
    if number.kind == "percent" and place.near & SHARE and len(table.body) > _MANY_ROWS:
        for rows in groups.values():
            if 1 < len(rows) < len(table.body) and number.digits > 1 and number.fits(100 * len(rows) / len(table.body)):
                yield f"{len(rows)} / {len(table.body)} rows"
    for name, rows in groups.items():
        if (
            len(rows) == number.value
            and not number.kind
            and number.step == 1
            and len(rows) > 1
            and (name != "all rows" or number.digits > 1)
        ):
            yield f"{len(rows)} rows of {name}"
    for column in table.columns:
        for other in place.beside:
            limit, count = (number, other) if number.bound else (other, number)
            if (
                limit is not count
                and limit.bound
                and count.step == 1
                and fit(column, table, place.near | place.topic) > 0
            ):
                for name, rows in groups.items():
                    if any(
                        _is_count(count, limit, factor, "not" in place.near, [column.values[row] for row in rows])
                        for factor in factors(limit, table, column)
                    ):
                        yield f"rows of {name} with {column.name} {limit.bound} {limit.text}"
        if (
            all(value in (0.0, 1.0, None) for value in column.values)
            and fit(column, table, place.near | place.topic) > 0
        ):
            for name, rows in groups.items():
                if sum(column.values[row] == 1 for row in rows) == number.value:
                    yield f"rows of {name} with {column.name} = 1"


def _is_count(count: Number, limit: Number, factor: float, negated: bool, values: Sequence[float | None]) -> bool:
    """Return True if this many values are beyond the limit. A negated sentence may count the other side."""
    shown = [value * factor for value in values if value is not None]
    above = (sum(value > limit.value for value in shown), sum(value >= limit.value for value in shown))
    below = (len(shown) - above[1], len(shown) - above[0])
    return (count.value in above and (negated or limit.bound == "above")) or (
        count.value in below and (negated or limit.bound == "below")
    )


def _products(place: Place, table: IndexedTable, rows: Sequence[int]) -> Iterator[str]:
    """Yield sums of products of two columns (stock at cost), or weighted means."""
    number = place.number
    if number.digits < 2 or not place.near & (_WORTH | TOTAL) or len(table.columns) > 10:
        return
    for first in table.columns:
        for second in table.columns:
            if (
                first is second
                or second.averaged
                or (fit(first, table, place.near | place.topic) == 0 and number.digits < 3)
            ):
                continue
            pairs = [
                (a, b) for row in rows if (a := first.values[row]) is not None and (b := second.values[row]) is not None
            ]
            total, weight = sum(a * b for a, b in pairs), sum(b for _, b in pairs)
            factor = 100.0 if first.fraction and number.kind == "percent" else 1.0
            weighted = first.averaged and len(pairs) > 1 and weight and place.near & (MEAN | _WEIGHT)
            if weighted and number.fits(abs(total / weight) * factor):
                yield f"mean of {first.name}, weighted by {second.name}"
            elif (
                (first.averaged or first.money)
                and number.kind in ("", "money")
                and number.digits > 2
                and number.fits(abs(total))
            ):
                yield f"sum of {first.name} x {second.name}"


def _largest(place: Place, table: IndexedTable, known: Sequence[tuple[Place, Source]]) -> Iterator[str]:
    """Yield sums of the first rows: `the top three make up 71 %`."""
    number = place.number
    if not place.near & (EXTREME | TOTAL | _COUNTS) or number.digits < 2 or number.kind not in ("percent", "", "money"):
        return
    for column in table.columns:
        if column.averaged or fit(column, table, place.near | place.topic) == 0:
            continue
        values = sorted(
            (value * column.scale for row in table.body if (value := column.values[row]) is not None), reverse=True
        )
        whole, part = sum(values), 0.0
        for count, value in enumerate(values[:10], 1):
            part += value
            if count > 1 and whole and number.kind == "percent" and number.fits(abs(part / whole) * 100):
                yield f"the largest {count} of {column.name}: {part:,.12g} / {whole:,.12g}"
            elif count > 1 and number.kind != "percent" and number.fits(abs(part)):
                yield f"the largest {count} of {column.name} together"


_COUNTS: Final = stems("top first leading largest biggest")
_COMPOUND: Final = stems("compound cagr annualised annualized")


def _of_two_results(
    place: Place, tables: Sequence[IndexedTable], known: Sequence[tuple[Place, Source]]
) -> Iterator[str]:
    """Yield calculations with columns of two results that the sentence names: of the same row, or of all rows."""
    asked = place.near & (CHANGE | RATIO | SHARE | _LEAVES) or place.cell or place.number.negative is not None
    if not asked or (place.number.digits < 3 and not place.number.kind):
        return
    chosen = [
        (
            table,
            selection.named == UNNAMED,
            [term for term in _columns(place, table, selection.rows, known) if not term.unnamed],
        )
        for table in tables[-_RESULTS_COMPARED:]
        for selection in selections(place, table)
    ]
    for (one, of_all, first_terms), (other, also_of_all, second_terms) in combinations(chosen, 2):
        if one is not other and of_all == also_of_all:
            for first, second in product(first_terms, second_terms):
                said = difference(place, first, second) or ratio(place, first, second) or ratio(place, second, first)
                if said:
                    yield said


def _of_numbers(place: Place, known: Sequence[tuple[Place, Source]], read: Sequence[Number]) -> Iterator[str]:
    """Yield calculations with numbers found near the sentence, and with numbers of related texts."""
    number = place.number
    if number.adjectival:
        return
    near = [
        (other.sentence - place.sentence, of_number(other.number, source))
        for other, source in known
        if not (other.cell or other.number.adjectival or other.number.is_year)
    ]
    same = [term for distance, term in near if distance == 0][-_OPERANDS_MAX:]
    before = [term for distance, term in near if -_SENTENCES <= distance <= 0][-_OPERANDS_MAX:]
    texts = [Term(one.value, one.text, one.kind, one.currency) for one in read]
    for first, second in combinations(same, 2):
        yield from _of_pair(place, first, second, bool(place.near & (CHANGE | _LEAVES)))
    if number.digits > 1 or number.kind == "times":
        for first, second in combinations(before, 2):
            yield from _of_pair(place, first, second, bool(place.close & (CHANGE | _LEAVES)))
    if number.digits > 2:
        for first, second in [*product(texts, before), *combinations(texts, 2)]:
            yield from _of_pair(place, first, second, bool(place.near & (CHANGE | _LEAVES)))
    if number.digits > 2 and "=" in number.lead:
        shown = [Term(one.value, one.text, one.kind) for one in place.beside if one.start < number.start][-3:]
        for first, second in combinations(shown, 2):
            values = {"x": first.value * second.value, "+": first.value + second.value, "-": first.value - second.value}
            for sign, value in values.items():
                if number.fits(abs(value)) or (
                    "percent" in (first.kind, second.kind) and number.fits(abs(value) / 100)
                ):
                    yield f"{first.text} {sign} {second.text}"
    for term in before if number.kind == "percent" and number.digits > 1 else ():
        if term.kind == "percent" and number.fits(100 - term.value):
            yield f"100 % - {term.text}"
    yield from _sums(place, known, near)


def _of_pair(place: Place, first: Term, second: Term, asked: bool) -> Iterator[str]:
    """Yield the difference, ratio, product or sum of two numbers."""
    number = place.number
    percent = "percent" in (first.kind, second.kind)
    asked = asked or number.negative is not None or number.digits > 3
    if asked and (said := difference(place, first, second)):
        yield said
    if not percent and (said := ratio(place, first, second) or ratio(place, second, first)):
        yield said
    of_percent = percent and first.kind != second.kind and number.kind in ("", "money") and number.digits > 2
    factor = 0.01 if of_percent else 1.0 if number.digits > 3 and not percent else 0.0
    if factor and number.fits(abs(first.value * second.value * factor)):
        yield f"{first.text} x {second.text}"
    summed = first.kind == second.kind == (number.kind or first.kind) and number.digits > 1
    summed = summed and (number.digits > 3 or bool(place.near & (TOTAL | _AND)))
    if summed and number.fits(abs(first.value + second.value)):
        yield f"{first.text} + {second.text}"


def _sums(place: Place, known: Sequence[tuple[Place, Source]], near: Sequence[tuple[int, Term]]) -> Iterator[str]:
    """Yield sums of numbers before or after this one, with signs, and of columns of the answer's tables."""
    number = place.number
    if number.digits < 2 or number.kind not in ("", "money"):
        return
    before = [term for distance, term in near if distance <= 0][-_SUMMANDS_MAX:]
    after = [term for distance, term in near if distance > 0][:_SUMMANDS_MAX]
    if number.digits > 2 and place.near & (_LEAVES | TOTAL):
        for a, b, c in combinations(before, 3):
            signed = (a.value + b.value - c.value, a.value - b.value + c.value, a.value - b.value - c.value)
            if a.kind == b.kind == c.kind == (number.kind or a.kind) and any(number.fits(abs(one)) for one in signed):
                yield f"from {a.text}, {b.text} and {c.text}"
    columns: dict[tuple[int, int], list[Term]] = {}
    for other, source in known:
        if other.cell and other.cell != place.cell:
            columns.setdefault(other.cell, []).append(of_number(other.number, source))
    origins = {other.number.text: source.column for other, source in known}
    parts = [before[:count] for count in range(3, len(before) + 1)] + [
        before[-count:] for count in range(3, len(before))
    ]
    parts = [*parts, *columns.values()] if place.near & TOTAL else []
    parts += [after[:count] for count in range(2, len(after) + 1)] if number.digits > 2 else []
    for part in parts:
        alike = len(part) > 1 and len({(term.kind, origins.get(term.text)) for term in part}) == 1
        if alike and number.fits(abs(sum(term.value for term in part))):
            yield " + ".join(term.text for term in part)
