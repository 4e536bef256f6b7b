"""Random calculations: their words parse to the same one or are refused, and their SQL gives what pandas gives."""

from __future__ import annotations

import io
import random
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd

from agentsvc_nb.agents.offline.calculation import Calculation, Condition, Group, Measure, Part
from agentsvc_nb.agents.offline.saying import say
from tests.unit.offline.tables import ReadTable, orders

AMOUNTS = ("price", "units", "revenue", "discount")
PARTS: tuple[Part, ...] = ("day", "week", "month", "quarter", "year", "weekday")
VALUES = {"region": ("North", "South", "West", "East"), "product": ("Tent", "Mug", "Lamp", "Steel Bottle")}


def random_calculation(made: random.Random) -> Calculation:
    columns = made.sample(["region", "product", "units", "price", "order_date", "paid"], made.randint(0, 2))
    conditions = frozenset(random_condition(made, column) for column in columns)
    group = Group(made.choice([*VALUES])) if made.random() < 0.6 else Group("order_date", made.choice(PARTS))
    groups = (group,) if made.random() < 0.5 else ()
    return Calculation(measures=(random_measure(made),), conditions=conditions, groups=groups)


def random_condition(made: random.Random, column: str) -> Condition:
    if column in VALUES:
        some, negated = tuple(made.sample(VALUES[column], made.randint(1, 2))), made.random() < 0.4
        op = ("!=" if negated else "=") if len(some) == 1 else ("not in" if negated else "in")
        return Condition(column, op, some)
    if column == "paid":
        return Condition(column, "=", (made.random() < 0.5,))
    if column == "order_date" and made.random() < 0.3:
        return Condition(column, "weekday", (made.randint(1, 7),))
    if column == "order_date":
        return Condition(column, made.choice(["<", ">="]), (date(made.choice([2025, 2026]), made.randint(1, 12), 5),))
    return Condition(column, made.choice([">", "<", ">=", "<=", "="]), (Decimal(made.randint(1, 60)),))


def random_measure(made: random.Random) -> Measure:
    match made.randrange(5):
        case 0:
            return Measure("count")
        case 1:
            return Measure("distinct", made.choice([*VALUES]))
        case 2:
            return Measure("sum", made.choice(("units", "revenue")))
        case 3:
            column, over = made.sample(("units", "revenue"), 2)
            return Measure("ratio", column, over)
    return Measure(made.choice(["mean", "median", "min", "max"]), made.choice(AMOUNTS))


def test_a_calculation_in_words_parses_to_the_same_calculation_or_is_refused(tmp_path: Path) -> None:
    assert said_and_parsed(ReadTable(tmp_path, "orders", orders(seed=1)), seed=2, count=60) > 0.85


def test_the_sql_of_a_calculation_gives_what_pandas_gives(tmp_path: Path) -> None:
    check_sql(tmp_path, seed=0, count=25)


def said_and_parsed(table: ReadTable, seed: int, count: int) -> float:
    """Return the share of calculations that are parsed from their words. None is parsed as another one."""
    made, same = random.Random(seed), 0
    for calculation in (random_calculation(made) for _ in range(count)):
        parsed = table.parser.parse(say(calculation))
        if isinstance(parsed, Calculation):
            assert parsed == calculation, (seed, say(calculation))
            same += 1
    return same / count


def check_sql(folder: Path, seed: int, count: int) -> None:
    """Compare the SQL of random calculations over a random table with what pandas computes."""
    content = orders(seed)
    table = ReadTable(folder, "orders", content)
    frame = pd.read_csv(io.StringIO(content), parse_dates=["order_date"], keep_default_na=False, na_values=[""])
    made = random.Random(seed + 100)
    for calculation in (random_calculation(made) for _ in range(count)):
        assert normal(table.run(calculation)) == normal(computed(calculation, frame)), (seed, say(calculation))


def computed(calculation: Calculation, frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return what pandas makes of a calculation."""
    rows = frame[kept(frame, calculation.conditions)]
    if calculation.groups:
        groups = rows.groupby(key(rows, calculation.groups[0]), dropna=False)
        return sorted(((name, measured(calculation.measures[0], group)) for name, group in groups), key=str)
    return [(measured(calculation.measures[0], rows),)]


def kept(frame: pd.DataFrame, conditions: frozenset[Condition]) -> pd.Series:
    mask = pd.Series(True, index=frame.index)
    for one in conditions:
        mask &= fits(frame[one.column], one)
    return mask


def fits(cells: pd.Series, one: Condition) -> pd.Series:
    match one.op:
        case "in" | "=" if isinstance(one.values[0], str):
            return cells.isin(one.values)
        case "not in" | "!=":
            return ~cells.isin(one.values)
        case "weekday":
            return (cells.dt.day_of_week + 1).isin(one.values)
    value: Any = one.values[0]
    if isinstance(value, bool):
        return cells == ("yes" if value else "no")
    value = pd.Timestamp(value) if cells.dtype.kind == "M" else float(value)
    compare = {"=": cells.eq, "<": cells.lt, ">": cells.gt, "<=": cells.le, ">=": cells.ge}
    return compare[one.op](value)


def key(frame: pd.DataFrame, group: Group) -> pd.Series:
    cells = frame[group.column]
    match group.part:
        case None:
            return cells
        case "weekday":
            return cells.dt.day_of_week + 1
        case part:
            first = cells.dt.to_period({"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}[part])
            return first.dt.start_time.dt.strftime("%Y-%m-%d")


def measured(measure: Measure, frame: pd.DataFrame) -> Any:
    if measure.agg == "count":
        return len(frame)
    cells = frame[str(measure.column)]
    match measure.agg:
        case "distinct":
            return cells.nunique()
        case "ratio":
            over = str(measure.over)
            both = frame[[str(measure.column), over]].dropna().sum()
            return both[str(measure.column)] / both[over] if both[over] else None
        case "sum":
            return cells.sum(min_count=1)
    return getattr(cells, measure.agg)()


def normal(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows with rounded numbers and one kind of missing value, in one order."""
    made = [tuple(None if pd.isna(cell) else _as_number(cell) for cell in row) for row in rows]
    return sorted(made, key=str)


def _as_number(cell: Any) -> Any:
    return cell if isinstance(cell, str) and not cell.isdigit() else round(float(cell), 6)
