"""Random calculations over the table of `tables.orders`."""

from __future__ import annotations

import random
from datetime import date
from decimal import Decimal

from agentsvc_nb.agents.offline.calculation import Calculation, Condition, Group, Measure, Part, Rank

AMOUNTS = ("price", "units", "revenue", "discount")
ADDITIVE = ("units", "revenue")
TEXTS = ("region", "product")
PARTS: tuple[Part, ...] = ("day", "week", "month", "quarter", "year", "weekday")
VALUES = {"region": ("North", "South", "West", "East"), "product": ("Tent", "Mug", "Lamp", "Steel Bottle")}


def random_calculation(made: random.Random) -> Calculation:
    conditions = frozenset(one for one in (random_condition(made, column) for column in random_columns(made)))
    match made.randrange(6):
        case 0:
            return Calculation(measures=(random_measure(made),), conditions=conditions)
        case 1:
            return Calculation(measures=(random_measure(made),), conditions=conditions, groups=(random_group(made),))
        case 2:
            measure = made.choice([Measure("count"), Measure("sum", made.choice(ADDITIVE))])
            conditions = frozenset(one for one in conditions if one.column not in AMOUNTS)
            rank = Rank(measure, made.random() < 0.5, made.randint(1, 3))
            return Calculation(conditions=conditions, groups=(random_group(made),), rank=rank)
        case 3:
            part = frozenset({random_condition(made, made.choice(TEXTS))})
            rest = frozenset(one for one in conditions if one.column not in TEXTS)
            return Calculation(measures=(Measure("count"),), conditions=rest, share=part)
        case 4:
            per = Group("order_date", made.choice(PARTS[:5]))
            return Calculation(measures=(Measure("sum", made.choice(ADDITIVE)),), conditions=conditions, mean_per=per)
    column, over = made.sample(ADDITIVE, 2)
    return Calculation(measures=(Measure("ratio", column, over),), conditions=conditions)


def random_columns(made: random.Random) -> list[str]:
    return made.sample(["region", "product", "units", "price", "order_date", "paid"], made.randint(0, 2))


def random_condition(made: random.Random, column: str) -> Condition:
    if column in TEXTS:
        some = tuple(made.sample(VALUES[column], made.randint(1, 2)))
        negated = made.random() < 0.4
        op = ("!=" if negated else "=") if len(some) == 1 else ("not in" if negated else "in")
        return Condition(column, op, some)
    if column == "paid":
        return Condition(column, "=", (made.random() < 0.5,))
    if column == "order_date":
        if made.random() < 0.3:
            return Condition(column, "weekday", (made.randint(1, 7),))
        return Condition(column, made.choice(["<", ">="]), (date(made.choice([2025, 2026]), made.randint(1, 12), 5),))
    return Condition(column, made.choice([">", "<", ">=", "<=", "="]), (Decimal(made.randint(1, 60)),))


def random_measure(made: random.Random) -> Measure:
    match made.randrange(4):
        case 0:
            return Measure("count")
        case 1:
            return Measure("distinct", made.choice(TEXTS))
        case 2:
            return Measure(made.choice(["sum"]), made.choice(ADDITIVE))
    return Measure(made.choice(["mean", "median", "min", "max"]), made.choice(AMOUNTS))


def random_group(made: random.Random) -> Group:
    return Group(made.choice(TEXTS)) if made.random() < 0.6 else Group("order_date", made.choice(PARTS))
