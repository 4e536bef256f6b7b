"""Two small tables that the tests of plans by hand are about."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Final

from agentsvc_nb.documents.plans.plan import Aggregate, Column, Operation
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from tests.plans.oracle import Data

SALES: Final = Data(
    TableProfile(
        "sales",
        "data/sales.csv",
        8,
        (
            ColumnProfile("order id", "number", distinct=8),
            ColumnProfile("channel", "text", empty=1, distinct=3),
            ColumnProfile("sku", "text", distinct=4),
            ColumnProfile("revenue", "number", "€", 2, empty=1, distinct=7),
            ColumnProfile("cost", "number", "€", 2, distinct=7),
            ColumnProfile("units", "number", distinct=5),
            ColumnProfile("ctr", "number", "%", 1, distinct=6),
            ColumnProfile("rank", "number", distinct=8),
            ColumnProfile("day", "date", distinct=8),
        ),
    ),
    [
        (1, "Email", "A", Decimal("1000.00"), Decimal("400.00"), 10, Decimal("1.5"), 3, date(2025, 1, 6)),
        (2, "Email", "B", Decimal("500.50"), Decimal("100.00"), 5, Decimal("2.0"), 5, date(2025, 1, 20)),
        (3, "Search", "A", Decimal("2000.00"), Decimal("900.00"), 20, Decimal("0.5"), 2, date(2025, 2, 3)),
        (4, "Search", "C", None, Decimal("50.00"), 1, Decimal("0.1"), 8, date(2025, 2, 4)),
        (5, "Social", "B", Decimal("250.00"), Decimal("300.00"), 2, Decimal("3.0"), 6, date(2025, 4, 1)),
        (6, None, "A", Decimal("99.99"), Decimal("0.00"), 1, Decimal("2.0"), 7, date(2025, 4, 2)),
        (7, "Search", "B", Decimal("3000.00"), Decimal("1200.00"), 20, Decimal("1.1"), 1, date(2025, 4, 30)),
        (8, "Email", "X", Decimal("700.00"), Decimal("400.00"), 10, Decimal("1.5"), 4, date(2025, 5, 5)),
    ],
)
PRODUCTS: Final = Data(
    TableProfile(
        "products",
        "products.xlsx",
        3,
        (
            ColumnProfile("sku", "text", distinct=3),
            ColumnProfile("category", "text", distinct=2),
            ColumnProfile("price", "number", "€", 2, distinct=3),
        ),
        sheet="Spring 2025",
    ),
    [
        ("A", "Tents", Decimal("100.00")),
        ("B", "Stoves", Decimal("50.00")),
        ("C", "Tents", Decimal("200.00")),
    ],
)
TABLES: Final = {one.profile.name: one.profile for one in (SALES, PRODUCTS)}


def column(name: str, table: str = "sales") -> Column:
    return Column(table, name)


def total(name: str, operation: Operation = "sum") -> Aggregate:
    return Aggregate(operation, column(name))


ROWS: Final = Aggregate("count")
