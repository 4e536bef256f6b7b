"""Executes a planned calculation, exactly, and shows it: the result, the expression, and the rows that decided it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from statistics import median
from typing import Final

from agentsvc_nb.agents.offline.basis import AnswerPart, result, without_result
from agentsvc_nb.agents.offline.tables.conditions import fitting, totals
from agentsvc_nb.agents.offline.tables.measures import Measure, Plan
from agentsvc_nb.agents.offline.writing import code
from agentsvc_nb.formats.safe_text import escape, table
from agentsvc_nb.formats.tables.plain import PRECISION, Numbers, show

ROWS_SHOWN: Final = 5
GROUPS_SHOWN: Final = 20
COLUMNS_SHOWN: Final = 8

_REDUCE: Final[dict[str, Callable[[Sequence[Decimal]], Decimal]]] = {
    "sum": lambda values: sum(values, Decimal(0)),
    "mean": lambda values: sum(values, Decimal(0)) / len(values),
    "median": median,
    "min": min,
    "max": max,
}
_CALLED: Final = {
    "sum": "Total", "mean": "Average", "median": "Median", "min": "Lowest", "max": "Highest", "quotient": "Overall",
}  # fmt: skip
_COUNTED: Final = {"min": "Fewest", "max": "Most"}


def carry_out(plan: Plan) -> AnswerPart:
    """The answer: its headline, the expression with its result, a table where one helps, and the rows left out."""
    made = _result(plan)
    return replace(made, text=made.text + _left_out(plan))


def _result(plan: Plan) -> AnswerPart:
    with localcontext(prec=PRECISION):
        if not plan.rows:
            none = f"No row of {code(plan.table.path)} fits.\n\n{code(expression(plan))}\n\n"
            return without_result("nothing", none)
        if plan.operation == "share":
            return _share(plan)
        if plan.group is not None:
            return _grouped(plan, plan.group)
        if plan.measure is None:
            return _counted(plan)
        if plan.operation in ("min", "max"):
            return _extreme(plan, plan.measure)
        number = _reduce(plan.operation, plan.measure, plan.rows)
        value = show(number, plan.measure.numbers)
        head = f"{_CALLED[plan.operation]} {plan.measure.name}: {value}"
        return result("computed", head, [_bare(number, plan.measure.numbers)], _shown(plan, value))


def _bare(number: Decimal, numbers: Numbers) -> str:
    """The number as it is shown, without its unit."""
    return show(number, replace(numbers, unit=""))


def _left_out(plan: Plan) -> str:
    """How many rows were left out, by reason (no number, a row of totals), so that an incomplete result does not look
    complete; and the words that were read as a column's name."""
    reasons = [(len(totals(plan.table)), "of totals")]
    if plan.measure:
        zeros = sum(1 for row in plan.dropped if row in plan.measure.zeros)
        names = " or ".join(escape(plan.table.columns[index]) for index in plan.measure.columns)
        reasons.append((len(plan.dropped) - zeros, f"without a number in {names}"))
        reasons.append((zeros, f"where {escape(plan.measure.divisor)} is 0"))
    measured = plan.measure.columns if plan.measure else ()
    limits = [one for one in plan.filters if one.unknown and one.column not in measured]
    reasons += [(len(one.unknown), f"without a number in {escape(plan.table.columns[one.column])}") for one in limits]
    shown = ", ".join(f"{_count_rows(count)} {why}" for count, why in reasons if count)
    rows = f"Left out: {shown}.\n\n" if shown else ""
    return rows + "".join(
        f"There is no column {escape(word)}: read as {escape(name)}.\n\n" for word, name in plan.guessed
    )


def _count_rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def _share(plan: Plan) -> AnswerPart:
    """The share of the selected rows in the sum of all rows."""
    whole_rows = fitting(plan.table, ())
    values = plan.measure.numbers.values if plan.measure else [Decimal(1)] * len(plan.table.rows)
    numbers = [values[row] for row in whole_rows]
    whole = sum((value for value in numbers if value is not None), Decimal(0))
    if not plan.filters or not whole:
        ask = f"There is no share of {code(plan.table.path)}: name the rows whose share is wanted.\n\n"
        return without_result("asked_back", ask)
    part = sum((value for row in plan.rows if (value := values[row]) is not None), Decimal(0))
    name = plan.measure.name if plan.measure else "rows"
    share = f"{100 * part / whole:.2f}"
    done = "sum" if plan.measure else "count"
    shown = f"{expression(replace(plan, operation=done))} / {done}({name}) over {_count_rows(len(numbers))} = {share}%"
    return result("computed", f"Share of {name}: {share}%", [share], f"{code(shown)}\n\n")


def _reduce(operation: str, measure: Measure, rows: Sequence[int]) -> Decimal:
    if operation == "quotient" and measure.quotient:
        above, below = (sum(((one.values[row] or Decimal(0)) for row in rows), Decimal(0)) for one in measure.quotient)
        return above / below
    values = [value for row in rows if (value := measure.numbers.values[row]) is not None]
    return _REDUCE[operation](values)


def expression(plan: Plan) -> str:
    """The calculation as text: `sum(price_eur) where category = "Tents" over 3 rows of products.csv`."""
    inner = "rows"
    if plan.measure:
        inner = plan.measure.formula or plan.measure.name
    if plan.operation == "quotient":
        inner = " / ".join(f"sum({part.strip()})" for part in inner.rsplit(" / ", 1))
    if plan.distinct is not None:
        inner = f"distinct {plan.table.columns[plan.distinct]}"
    by = f" by {plan.table.columns[plan.group]}" if plan.group is not None else ""
    where = " where " + " and ".join(one.shown for one in plan.filters) if plan.filters else ""
    done = inner if plan.operation == "quotient" else f"{plan.operation}({inner})"
    return f"{done}{by}{where} over {_count_rows(len(plan.rows))} of {plan.table.path}"


def _shown(plan: Plan, value: str) -> str:
    return f"{code(f'{expression(plan)} = {value}')}\n\n"


def _counted(plan: Plan) -> AnswerPart:
    if plan.distinct is None:
        count = str(len(plan.rows))
        return result("computed", f"{count} rows of {plan.table.path}", [count], _shown(plan, count))
    values = sorted({cell for row in plan.rows if (cell := plan.table.rows[row][plan.distinct])})
    named = ", ".join(escape(value) for value in values[:GROUPS_SHOWN]) + (", …" if len(values) > GROUPS_SHOWN else "")
    count, title = str(len(values)), plan.table.columns[plan.distinct]
    return result("computed", f"{count} different values of {title}", [count], f"{named}\n\n{_shown(plan, count)}")


def leaders(plan: Plan) -> list[str]:
    """The names of the groups or rows that come first."""
    if not plan.rows:
        return []
    with localcontext(prec=PRECISION):
        if plan.group is None and plan.measure is not None:
            return _distinct(_name(plan, row) for row in _leading(plan, plan.measure))
        results = _by_group(plan, plan.group or 0)
    return [label for number, label in results[: max(plan.first, 1)]] + [
        label for number, label in results[max(plan.first, 1) :] if number == results[0][0]
    ]


def _leading(plan: Plan, measure: Measure) -> list[int]:
    """The rows with the highest or lowest values: as many as are wanted, or all rows that share the extreme value."""

    def size(row: int) -> Decimal:
        return measure.numbers.values[row] or Decimal(0)

    ordered = sorted(plan.rows, key=size, reverse=plan.operation == "max")
    return ordered[: plan.first] if plan.first > 1 else [row for row in ordered if size(row) == size(ordered[0])]


def _name(plan: Plan, row: int) -> str:
    named = plan.table.rows[row][plan.entity] if plan.entity is not None else ""
    return named or plan.table.name(row)


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _extreme(plan: Plan, measure: Measure) -> AnswerPart:
    chosen = _leading(plan, measure)
    number = measure.numbers.values[chosen[0]] or Decimal(0)
    value = show(number, measure.numbers)
    called = _distinct(_name(plan, row) for row in chosen)
    names = ", ".join(called[:ROWS_SHOWN])
    names += f" and {len(called) - ROWS_SHOWN} more" if len(called) > ROWS_SHOWN else ""
    head = f"{_CALLED[plan.operation]} {measure.name}: {names}, {value}"
    if plan.first > 1:
        head = f"{_CALLED[plan.operation]} {len(chosen)} by {measure.name}: {names}"
    values = called if plan.first > 1 or plan.names else [_bare(number, measure.numbers)]
    rows = _rows(plan, measure, chosen[: max(plan.first, ROWS_SHOWN)])
    return result("computed", head, values, f"{_shown(plan, value)}{rows}")


def _rows(plan: Plan, measure: Measure, rows: Sequence[int]) -> str:
    """A table of the rows behind the result, with the measured value when it is not a column itself."""
    columns = list(range(len(plan.table.columns)))[:COLUMNS_SHOWN]
    if measure.column is not None and measure.column not in columns:
        columns[-1] = measure.column
    extra = [measure.name] if measure.column is None else []
    head = ["row", *(plan.table.columns[index] for index in columns), *extra]
    lines = []
    for row in rows:
        value = measure.numbers.values[row]
        made = [show(value, measure.numbers)] if extra and value is not None else []
        lines.append([str(row + 1), *(plan.table.rows[row][index] for index in columns), *made])
    return table(head, lines) + "\n"


def _members(plan: Plan, group: int) -> dict[str, list[int]]:
    members: dict[str, list[int]] = {}
    for row in plan.rows:
        members.setdefault(plan.table.rows[row][group] or "(empty)", []).append(row)
    return members


def _by_group(plan: Plan, group: int) -> list[tuple[Decimal, str]]:
    """The result of each group with its name, the first one wanted first."""
    measured = plan.measure
    results = [
        (_reduce(plan.operation, measured, rows) if measured else Decimal(len(rows)), name)
        for name, rows in _members(plan, group).items()
    ]
    return sorted(results, reverse=plan.extreme != "min", key=lambda one: one[0])


def _grouped(plan: Plan, group: int) -> AnswerPart:
    members, results, measured = _members(plan, group), _by_group(plan, group), plan.measure
    shown = results[: plan.first or GROUPS_SHOWN]
    head, values = _table_head(plan, group, shown) if not plan.extreme else _leading_groups(plan, group, results)
    lines = [[label, _number(plan, number), str(len(members[label]))] for number, label in shown]
    done = f"{plan.operation}({measured.name if measured else 'rows'})"
    shown_table = table([plan.table.columns[group], done, "rows"], lines)
    return result("computed", head, values, f"{code(expression(plan))}\n\n{shown_table}\n")


def _number(plan: Plan, number: Decimal) -> str:
    return show(number, plan.measure.numbers) if plan.measure else str(number)


def _value(plan: Plan, number: Decimal) -> str:
    return _bare(number, plan.measure.numbers) if plan.measure else str(number)


def _table_head(plan: Plan, group: int, results: Sequence[tuple[Decimal, str]]) -> tuple[str, list[str]]:
    """The headline of a table of groups, and its values: name and number of each."""
    name = plan.measure.name if plan.measure else "rows"
    values = [text for number, label in results for text in (label, _value(plan, number))]
    return f"{_CALLED.get(plan.operation, 'Count of')} {name} by {plan.table.columns[group]}", values


def _leading_groups(plan: Plan, group: int, results: Sequence[tuple[Decimal, str]]) -> tuple[str, list[str]]:
    """The headline and the values of the question which group leads, or which ones do."""
    title, name = plan.table.columns[group], plan.measure.name if plan.measure else "rows"
    first = [label for number, label in results if number == results[0][0]]
    if plan.first <= 1:
        called = _CALLED[plan.extreme] if plan.measure else _COUNTED[plan.extreme]
        head = f"{called} {name} by {title}: {', '.join(first[:ROWS_SHOWN])}, {_number(plan, results[0][0])}"
        return head, first if plan.names else [_value(plan, results[0][0])]
    first = [label for _, label in results[: plan.first]]
    by = f"{_CALLED.get(plan.operation, 'count').lower()} {name}"
    more = ", …" if len(first) > ROWS_SHOWN else ""
    return f"{_CALLED[plan.extreme]} {len(first)} of {title} by {by}: {', '.join(first[:ROWS_SHOWN])}{more}", first
