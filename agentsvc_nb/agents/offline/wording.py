"""Describe the result of a calculation in words: the column titles, the headline, how many rows were used, and
warnings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from agentsvc_nb.agents.offline.calculation import Calculation, Group, Measure
from agentsvc_nb.agents.offline.dates import DateSpan, months
from agentsvc_nb.agents.offline.profile import ProfiledColumn, ProfiledTable
from agentsvc_nb.agents.offline.saying import AGGREGATES, say
from agentsvc_nb.agents.offline.sql import compared_conditions, measured_columns
from agentsvc_nb.agents.offline.writing import code
from agentsvc_nb.documents.safe_text import escape
from agentsvc_nb.documents.tables.results import Result, ResultColumn, Value, plain, shown
from agentsvc_nb.wire.text import label

NAMED_MAX: Final = 5
"""The maximum number of values in a headline."""
NOTES_CHARS: Final = 400
UNREAD_MAX: Final = 3
DAILY_FROM: Final = 14
"""A date column must span at least this many days to count as daily."""
DAILY_SHARE: Final = 0.9
"""A date column must contain at least this share of all days to count as daily. Holidays may be missing."""


def with_durations(result: Result) -> Result:
    """Return the result with durations in the form `1:02:03` instead of seconds."""
    timed = [column.unit == "s" and not column.decimals for column in result.columns]
    if not any(timed):
        return result
    columns = tuple(
        replace(column, kind="text", unit="") if is_timed else column
        for column, is_timed in zip(result.columns, timed, strict=True)
    )
    rows = tuple(
        tuple(
            _duration(value) if is_timed and isinstance(value, Decimal) else value
            for value, is_timed in zip(row, timed, strict=True)
        )
        for row in result.rows
    )
    return replace(result, columns=columns, rows=rows)


def _duration(value: Decimal) -> str:
    """Return a number of seconds as hours, minutes and seconds: `1:02:03`.

    Leave out the seconds if they are 0 and the duration is at least an hour, as in time sheets: `75:45` is 75 hours and
    45 minutes.
    """
    sign, seconds = "-" if value < 0 else "", round(abs(value))
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours}:{minutes:02}" if hours and not rest else f"{sign}{hours}:{minutes:02}:{rest:02}"


def result_columns(calculation: Calculation, table: ProfiledTable) -> tuple[ResultColumn, ...]:
    """Return the columns of a calculation's result, with their titles and number formats."""
    if calculation.select:
        return (_value_column(table.column(calculation.select), calculation.select),)
    keys = [_key_column(group, table) for group in calculation.groups]
    measures = calculation.measures or ((calculation.rank.measure,) if calculation.rank else ())
    columns = [*keys, *(_measure_column(measure, calculation, table) for measure in measures)]
    titles: set[str] = set()
    for place, column in enumerate(columns):
        title = column.title
        while title.casefold() in titles:
            title += " "
        titles.add(title.casefold())
        columns[place] = replace(column, title=title)
    return tuple(columns)


def _value_column(column: ProfiledColumn, title: str) -> ResultColumn:
    profile = column.profile
    if column.kind != "number":
        return ResultColumn(title, profile.kind if column.kind in ("bool", "date") else "text", profile.unit)
    years = column.is_id or "year" in column.words
    return ResultColumn(
        title, "number", profile.unit, profile.decimals or 0, quotient=profile.decimals is None, label=years
    )


def _key_column(group: Group, table: ProfiledTable) -> ResultColumn:
    if not group.part:
        return _value_column(table.column(group.column), group.column)
    return ResultColumn(group.part.capitalize(), "number" if group.part == "weekday" else "date", by=group.part)


def _measure_column(measure: Measure, calculation: Calculation, table: ProfiledTable) -> ResultColumn:
    title = measure_title(measure)
    if calculation.mean_per:
        period = calculation.mean_per.part or calculation.mean_per.column
        amount = measure.column if measure.agg == "sum" else title[:1].lower() + title[1:]
        title = f"Average {amount} per {period}"
    if calculation.share is not None:
        return ResultColumn(f"Share of {measure.column or 'rows'}", "number", "%", 0, quotient=True)
    if measure.agg in ("count", "distinct"):
        return ResultColumn(title, "number", quotient=calculation.mean_per is not None)
    column = table.column(str(measure.column))
    if measure.agg == "ratio":
        unit = "%" if measure.factor == 100 else column.profile.unit
        return ResultColumn(title, "number", unit, 0, quotient=True)
    if column.kind != "number":
        return _value_column(column, title)
    profile = column.profile
    # An average may have more decimals than its values, so round it as a quotient.
    inexact = profile.decimals is None or calculation.mean_per is not None or measure.agg in ("mean", "median")
    return ResultColumn(title, "number", profile.unit, 0 if inexact else profile.decimals or 0, quotient=inexact)


def measure_title(measure: Measure) -> str:
    """Return the title of a measure, such as `Total cost`, `CPA` or `Different campaign`."""
    match measure.agg:
        case "count":
            return "Number of rows"
        case "distinct":
            return f"Different {measure.column}"
        case "ratio":
            return measure.name or f"{measure.column} per {measure.over}"
        case agg:
            column, word = str(measure.column), AGGREGATES[agg].capitalize()
            return column if column.casefold().startswith(word.casefold()) else f"{word} {column}"


@dataclass(frozen=True, slots=True)
class Account:
    """Counts how a calculation used a table's rows.

    Attributes:
        rows: the number of all rows.
        used: the number of rows that match the conditions.
        empty: for each measured column, the number of these rows without a value.
        undecided: for each condition that compares values, the number of rows in which its column is empty and that
            match the other conditions.
    """

    rows: int
    used: int
    empty: tuple[int, ...]
    undecided: tuple[int, ...]


def headline(calculation: Calculation, table: ProfiledTable, result: Result, account: Account) -> str:
    """Return the headline of an answer, which is the result in one line."""
    columns, rows = result.columns, result.rows
    where = _where(calculation)
    if calculation.rank and calculation.groups:
        measure = calculation.rank.measure
        name = str(measure.column) if measure.agg in ("max", "min") else _lower(columns[1].title)
        dated = measure.column is not None and table.column(measure.column).kind == "date"
        order = ("Latest" if dated else "Highest") if calculation.rank.descending else "Earliest" if dated else "Lowest"
        if calculation.rank.limit > 1 and not calculation.rank.nth:
            order = (
                f"{'Top' if calculation.rank.descending else 'Bottom'} {calculation.rank.limit} {columns[0].title} by"
            )
        elif calculation.rank.nth:
            order = f"Number {calculation.rank.limit} by {'highest' if calculation.rank.descending else 'lowest'}"
        parts = [f"{shown(key, columns[0])} ({shown(amount, columns[1])})" for key, amount in rows]
        return f"{order} {name}{where}: {_list_first(parts)}"
    if calculation.select:
        parts = [shown(row[0], columns[0]) for row in rows]
        title = calculation.select
        if calculation.rank:
            title = f"{'Highest' if calculation.rank.descending else 'Lowest'} {calculation.select}"
        return f"{title}{where}: {_list_first(parts)}"
    if calculation.groups:
        titles = " and ".join(column.title for column in columns[len(calculation.groups) :])
        keys = " and ".join(group.part or group.column for group in calculation.groups)
        return f"{titles} by {keys}{where}: {len(rows):,} {'group' if len(rows) == 1 else 'groups'}"
    (row,) = rows
    share = f" that is {_conditions(Calculation(conditions=calculation.share))}" if calculation.share else ""
    parts = [f"{column.title}{share}: {shown(value, column)}" for value, column in zip(row, columns, strict=True)]
    line = ", ".join(parts)
    if (
        calculation.measures[0].agg == "distinct"
        and len(row) == 1
        and not calculation.having
        and not calculation.mean_per
    ):
        rows_used = account.used - sum(account.empty)
        if row[0] != rows_used:
            line += f" (in {rows_used:,} rows)"
    return line if not where else f"{line}{where.replace(' with ', ', with ', 1)}"


def values_of(calculation: Calculation, result: Result) -> list[str]:
    """Return the values for the event `answer.basis`.

    For a ranking, these are the names of the groups. Otherwise, these are all cells, row by row.
    """
    columns = result.columns[:1] if calculation.rank and calculation.groups else result.columns
    return [plain(value, column) for row in result.rows for value, column in zip(row, columns, strict=False)]


def doubt_sentence(calculation: Calculation, table: ProfiledTable) -> str:
    """Return sentences about doubts whether the table and the calculation's columns were read correctly, or ""."""
    doubts = [table.profile.doubt]
    doubts += [
        f"{code(name)}: {escape(doubt)}" for name in calculation.columns if (doubt := table.column(name).profile.doubt)
    ]
    return " ".join(filter(None, doubts))


def unread_sentence(calculation: Calculation, table: ProfiledTable) -> str:
    """Return a warning if cells of the calculation's columns could not be read, else "".

    It says that the result may be wrong.
    """
    sentences = []
    for name in calculation.columns:
        profile = table.column(name).profile
        if profile.unread:
            cells = "1 cell" if profile.unread == 1 else f"{profile.unread:,} cells"
            texts = ", ".join(code(text) for text in profile.unread_texts[:UNREAD_MAX])
            more = ", ..." if profile.unread > len(profile.unread_texts[:UNREAD_MAX]) else ""
            kind = {"number": "numbers", "date": "dates", "datetime": "dates", "time": "times"}.get(
                profile.kind, "values"
            )
            sentences.append(f"{cells} of {code(name)} could not be read as {kind}: {texts}{more}.")
    return " ".join(sentences) + " They are left out below, so the result may be wrong." if sentences else ""


def open_period_sentence(calculation: Calculation, table: ProfiledTable, result: Result, today: date) -> str:
    """Return a warning if the last period of the result is not over `today`, or if its daily data is incomplete.
    Otherwise return "".
    """
    for group in (*calculation.groups, *([calculation.mean_per] if calculation.mean_per else [])):
        column = table.column(group.column)
        newest = column.high
        if newest is None or group.part not in ("week", "month", "quarter", "year"):
            continue
        span = _period_of(newest, group.part)
        if group in calculation.groups:
            at = calculation.groups.index(group)
            if all(row[at] != span.start for row in result.rows):
                continue
        elif any(condition.column == group.column for condition in calculation.conditions):
            continue
        last = span.end - timedelta(days=1)
        monthly = column.profile.unit == "month"
        if newest >= last:
            continue
        until = f"{newest.day} {newest:%B %Y}"
        if last >= today:
            return f"{_period_name(span.start, group.part)} is not over" + (
                "." if monthly else f": the data goes up to {until}."
            )
        if _is_daily(column):
            return f"{_period_name(span.start, group.part)} is not complete: the data ends on {until}."
    return ""


def _period_of(day: date, part: str) -> DateSpan:
    """Return the week, month, quarter or year that contains the day."""
    match part:
        case "week":
            monday = day - timedelta(days=day.weekday())
            return DateSpan(monday, monday + timedelta(days=7))
        case "quarter":
            return months(day.year, day.month - (day.month - 1) % 3, 3)
        case "year":
            return months(day.year, 1, 12)
    return months(day.year, day.month, 1)


def _period_name(start: date, part: str) -> str:
    match part:
        case "week":
            year, week, _ = start.isocalendar()
            return f"Week {week} of {year}"
        case "quarter":
            return f"Q{(start.month + 2) // 3} {start.year}"
        case "year":
            return f"{start.year}"
    return f"{start:%B %Y}"


def _is_daily(column: ProfiledColumn) -> bool:
    """Return True if a date column contains almost all days from its first to its last."""
    first, newest = column.low, column.high
    days = (newest - first).days + 1 if first and newest else 0
    return days >= DAILY_FROM and column.profile.distinct >= DAILY_SHARE * days


def account_sentences(calculation: Calculation, table: ProfiledTable, account: Account) -> str:
    """Return sentences that say how many rows were used and how many not. Warn about sums that may make no sense."""
    sentences = [f"{_rows(account.rows)}."]
    if account.used < account.rows:
        sentences = [f"{account.used:,} of {_rows(account.rows)} match the conditions."]
    for name, count in zip(measured_columns(calculation), account.empty, strict=True):
        if count:
            sentences.append(f"{_rows(count)} without a value in {code(name)} {_do(count)} not count.")
    for condition, count in zip(compared_conditions(calculation), account.undecided, strict=True):
        if count:
            kept = condition.op in ("!=", "not in", "not weekday")
            does = "included" if kept else "left out"
            sentences.append(f"{_rows(count)} without a value in {code(condition.column)}: {does}.")
    for measure in calculation.measured:
        if measure.agg == "sum" and not table.column(str(measure.column)).additive:
            sentences.append(
                f"This is the sum of {code(str(measure.column))} over the rows. Check that a sum makes"
                " sense for this column."
            )
    return " ".join(dict.fromkeys(sentences))


def reading_notes(calculation: Calculation, table: ProfiledTable) -> str:
    """Return a line about how the table was read, without notes about columns that the calculation does not use."""
    others = [one.name for one in table.columns if one.name not in calculation.columns and len(one.name) > 2]
    notes = [
        note
        for note in table.profile.notes
        if any(name in note for name in calculation.columns) or not any(name in note for name in others)
    ]
    return escape(label(" ".join(notes), NOTES_CHARS)) if notes else ""


def cell_value(cell: object, kind: str) -> Value | None:
    """Convert a cell of a query's result to an exact value. `kind` is the column's type in a Table Schema."""
    if cell is None or isinstance(cell, bool):
        return cell
    if kind == "boolean":
        return cell == "true"
    if kind in ("integer", "number"):
        number = Decimal(str(cell))
        return number if number.is_finite() else str(cell)
    return date.fromisoformat(str(cell)) if kind == "date" else str(cell)


def _conditions(calculation: Calculation) -> str:
    return say(Calculation(measures=(Measure("count"),), conditions=calculation.conditions)).removeprefix(
        "number of rows with "
    )


def _where(calculation: Calculation) -> str:
    return f" with {_conditions(calculation)}" if calculation.conditions else ""


def _list_first(parts: Sequence[str]) -> str:
    more = f" and {len(parts) - NAMED_MAX:,} more" if len(parts) > NAMED_MAX else ""
    return ", ".join(parts[:NAMED_MAX]) + more


def _lower(title: str) -> str:
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _do(count: int) -> str:
    return "does" if count == 1 else "do"
