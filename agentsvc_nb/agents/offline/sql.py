"""Write a calculation as one SELECT statement for DuckDB. It uses only DuckDB's own functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Final

from agentsvc_nb.agents.offline.calculation import Calculation, Condition, Conditions, Constant, Group, Measure
from agentsvc_nb.agents.offline.profile import ProfiledTable

_PARTS: Final = {
    "day": "CAST({0} AS DATE)",
    "week": "CAST(date_trunc('week', {0}) AS DATE)",
    "month": "CAST(date_trunc('month', {0}) AS DATE)",
    "quarter": "CAST(date_trunc('quarter', {0}) AS DATE)",
    "year": "CAST(date_trunc('year', {0}) AS DATE)",
    "weekday": "isodow({0})",
}
"""For each part of a date, the SQL expression to group by. A period, such as a month, becomes its first day."""


class SqlWriter:
    """Writes calculations with one table as SQL."""

    def __init__(self, table: ProfiledTable) -> None:
        self._table = table
        self._source = f"\nFROM {quote_name(table.name)}"

    def select(self, calculation: Calculation, titles: Sequence[str]) -> str:
        """Return the statement for a calculation. `titles` are the names of its result columns: first those of the
        groups, then those of the measures.
        """
        tests = self._tests(calculation.conditions)
        if calculation.rank:
            tests += [f"{self._values(group.column)} IS NOT NULL" for group in calculation.groups]
        if calculation.select:
            tests.append(f"{self._name(calculation.select)} IS NOT NULL")
        where = f"{self._source}\nWHERE {' AND '.join(tests)}" if tests else self._source
        if calculation.having:
            return self._limited_groups(calculation, where, titles)
        if calculation.rank and calculation.groups:
            return self._ranked_groups(calculation, where, titles)
        if calculation.select:
            return self._selected_values(calculation, where, titles)
        keys = [self._key(group) for group in calculation.groups]
        places = ", ".join(str(place) for place in range(1, len(keys) + 1))
        grouped = f"\nGROUP BY {places}\nORDER BY {places}" if keys else ""
        if calculation.mean_per:
            columns = [f"{key} AS key{place}" for place, key in enumerate(keys, 1)]
            columns += [
                f"{self._key(calculation.mean_per)} AS period",
                f"{self._measure(calculation.measures[0])} AS amount",
            ]
            periods = f"(SELECT {', '.join(columns)}{where}\nGROUP BY ALL)"
            outer = [*(f"key{place}" for place in range(1, len(keys) + 1)), "avg(amount)"]
            return f"{_select(outer, titles)}\nFROM {periods}\nWHERE period IS NOT NULL{grouped}"
        measures = [*map(self._measure, calculation.measures)]
        if calculation.share is not None:
            measures = [self._share(measures[0], calculation.share)]
        return f"{_select([*keys, *measures], titles)}{where}{grouped}"

    def account(self, calculation: Calculation) -> str:
        """Return a statement with one result row: the numbers of `wording.Account`, in the order of its attributes."""
        conditions = self._tests(calculation.conditions)
        fits = " AND ".join(conditions) or "true"
        counts = ["count(*)", f"count(*) FILTER (WHERE {fits})"]
        for name in measured_columns(calculation):
            counts.append(f"count(*) FILTER (WHERE {fits} AND {self._name(name)} IS NULL)")
        for one in compared_conditions(calculation):
            others = self._tests(calculation.conditions - {one})
            counts.append(f"count(*) FILTER (WHERE {' AND '.join([*others, self._name(one.column) + ' IS NULL'])})")
        return f"SELECT {', '.join(counts)}{self._source}"

    def over_rows(self, calculation: Calculation, columns: str, rest: str = "") -> str:
        """Return a statement that selects SQL expressions over the rows that match the conditions."""
        tests = " AND ".join(self._tests(calculation.conditions))
        where = f"\nWHERE {tests}" if tests else ""
        return f"SELECT {columns}{self._source}{where}{rest}"

    def sums_by_group(self, calculation: Calculation, column: str) -> str:
        """Return a statement that compares the groups of a calculation.

        It selects three numbers: the most values of `column` in one group, and the smallest and largest sum of a group.
        """
        name = self._name(column)
        keys = [f"{self._key(group)} AS key{place}" for place, group in enumerate(calculation.groups)]
        columns = ", ".join([*keys, f"count({name}) AS many", f"sum({name}) AS amount"])
        groups = self.over_rows(calculation, columns, "\nGROUP BY ALL")
        return f"SELECT max(many), min(amount), max(amount)\nFROM ({groups})"

    def _limited_groups(self, calculation: Calculation, where: str, titles: Sequence[str]) -> str:
        assert calculation.having is not None
        measure, op, number = calculation.having
        key = self._name(str(calculation.select or calculation.measures[0].column))
        limit = f"\nGROUP BY {key}\nHAVING {self._measure(measure)} {op} {to_sql(number)}"
        if calculation.select:
            return f"{_select([key], titles)}{where}{limit}\nORDER BY 1"
        return f"{_select([f'count({key})'], titles)}\nFROM (SELECT {key}{where}{limit})"

    def _ranked_groups(self, calculation: Calculation, where: str, titles: Sequence[str]) -> str:
        """Return a statement for the first groups of a ranking. Groups that tie with the last group are included."""
        assert calculation.rank is not None
        order = "DESC" if calculation.rank.descending else "ASC"
        place, test = ("dense_rank", "=") if calculation.rank.nth else ("rank", "<=")
        key, amount = self._key(calculation.groups[0]), self._measure(calculation.rank.measure)
        groups = f"(SELECT {key} AS key, {amount} AS amount{where}"
        ranked = f"SELECT *, {place}() OVER (ORDER BY amount {order}) AS place\nFROM {groups}\nGROUP BY 1)"
        return (
            f"{_select(['key', 'amount'], titles)}\nFROM ({ranked}\nWHERE amount IS NOT NULL)\n"
            f"WHERE place {test} {calculation.rank.limit}\nORDER BY place, key"
        )

    def _selected_values(self, calculation: Calculation, where: str, titles: Sequence[str]) -> str:
        column = [self._name(str(calculation.select))]
        if calculation.rank is None:
            return f"{_select(column, titles, distinct=True)}{where}\nORDER BY 1"
        order = "DESC" if calculation.rank.descending else "ASC"
        limit = f"1 OFFSET {calculation.rank.limit - 1}" if calculation.rank.nth else str(calculation.rank.limit)
        return f"{_select(column, titles, distinct=calculation.rank.nth)}{where}\nORDER BY 1 {order}\nLIMIT {limit}"

    def _share(self, measure: str, part: Conditions) -> str:
        """Return an SQL expression for a percentage: the measure of some rows, divided by the measure of all rows.

        `part` contains the conditions of the rows in the numerator. If it is empty, the numerator is the measure of
        each group, and the denominator is the sum over all groups.
        """
        if not part:
            return f"100.0 * {measure} / nullif(sum({measure}) OVER (), 0)"
        return f"100.0 * {measure} FILTER (WHERE {' AND '.join(self._tests(part))}) / nullif({measure}, 0)"

    def _measure(self, measure: Measure) -> str:
        if measure.agg == "count":
            return "count(*)"
        column = self._name(str(measure.column))
        if measure.agg == "distinct":
            return f"count(DISTINCT {column})"
        if measure.agg == "ratio":
            # Use only rows with both values. Otherwise, the costs of rows without conversions would raise the cost per
            # conversion.
            over = self._name(str(measure.over))
            both = f"FILTER (WHERE {column} IS NOT NULL AND {over} IS NOT NULL)"
            return f"{measure.factor}.0 * sum({column}) {both} / nullif(sum({over}) {both}, 0)"
        if measure.agg == "median":
            # DuckDB's `median` is not exact: it rounds decimals to their decimal places (1.2 for 1.2 and 1.3), and
            # computes with whole numbers in floating point.
            return f"(quantile_disc({column}, 0.5) * 0.5 - quantile_disc(-{column}, 0.5) * 0.5)"
        return f"{'avg' if measure.agg == 'mean' else measure.agg}({column})"

    def _key(self, group: Group) -> str:
        return _PARTS[group.part].format(self._values(group.column)) if group.part else self._name(group.column)

    def _tests(self, conditions: Conditions) -> list[str]:
        return sorted(map(self._test, conditions))

    def _test(self, condition: Condition) -> str:
        """Return the SQL of a condition. A negated condition also matches rows without a value."""
        column, op = self._values(condition.column), condition.op
        match op:
            case "empty" | "not empty":
                return f"{column} IS {'NOT ' if op == 'not empty' else ''}NULL"
            case "weekday" | "not weekday":
                among = f"isodow({column}) IN ({', '.join(map(str, condition.values))})"
                return among if op == "weekday" else f"({column} IS NULL OR NOT {among})"
            case "in" | "not in":
                among = f"{column} IN ({', '.join(map(to_sql, condition.values))})"
                return among if op == "in" else f"({column} IS NULL OR NOT {among})"
            case "!=":
                return f"{column} IS DISTINCT FROM {to_sql(condition.values[0])}"
        if op.startswith("column"):
            return f"{column} {op.removeprefix('column')} {self._values(str(condition.values[0]))}"
        return f"{column} {op} {to_sql(condition.values[0])}"

    def _name(self, column: str) -> str:
        return quote_name(self._table.column(column).name)

    def _values(self, column: str) -> str:
        """Return the SQL for a column's values in comparisons. A month such as `2026-03` becomes its first day."""
        profile, name = self._table.column(column).profile, self._name(column)
        monthly = profile.kind == "date" and profile.unit == "month"
        return f"CAST(substr(CAST({name} AS VARCHAR), 1, 7) || '-01' AS DATE)" if monthly else name


def measured_columns(calculation: Calculation) -> tuple[str, ...]:
    """Return the columns from which measures are computed. Their empty cells do not affect the result."""
    found = [name for measure in calculation.measured if measure.agg != "count" for name in measure.columns]
    return tuple(dict.fromkeys(found))


def compared_conditions(calculation: Calculation) -> tuple[Condition, ...]:
    """Return the conditions that compare a column with a value. An empty cell matches them only if they are negated."""
    return tuple(sorted((one for one in calculation.conditions if one.op not in ("empty", "not empty")), key=repr))


def to_sql(value: Constant) -> str:
    """Return a constant as SQL."""
    match value:
        case bool():
            return str(value).upper()
        case Decimal():
            return f"{value:f}"
        case date():
            return f"DATE '{value}'"
        case str():
            return "'" + value.replace("'", "''") + "'"
    return str(value)


def quote_name(name: str) -> str:
    """Return a name with quotes for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _select(columns: Sequence[str], titles: Sequence[str], distinct: bool = False) -> str:
    named = [
        column if column == quote_name(title) else f"{column} AS {quote_name(title)}"
        for column, title in zip(columns, titles, strict=True)
    ]
    return f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(named)}"
