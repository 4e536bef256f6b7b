"""A table of orders, and what questions about it are understood as."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.tables.understanding import Understood, understand
from agentsvc_nb.documents.plans.expressions import expression
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile


def texts(name: str, *values: str) -> ColumnProfile:
    return ColumnProfile(name, "text", distinct=len(values), values=values, all_values=True)


def numbers(
    name: str, smallest: str, largest: str, distinct: int = 40, unit: str = "", empty: int = 0
) -> ColumnProfile:
    return ColumnProfile(name, "number", unit, 2, empty, distinct, smallest, largest)


ORDERS: Final = TableProfile(
    "orders",
    "orders.csv",
    120,
    (
        numbers("Order ID", "1001", "1120", 120),
        ColumnProfile("Order Date", "date", distinct=90, smallest="2025-01-05", largest="2025-11-28"),
        texts("Product Name", "Trail Tent", "Summit Pack", "River Mug", "Base Tent"),
        texts("Product Category", "Tents", "Backpacks", "Cups"),
        texts("Channel", "Email", "Search", "Social"),
        texts("Country", "Germany", "France", "Austria", "Spain"),
        numbers("Units", "1", "60"),
        numbers("Unit Price (EUR)", "12", "199", 5, "€"),
        numbers("Revenue (EUR)", "12", "2000", 110, "€"),
        numbers("Discount", "0.05", "0.3", 6, "%", empty=30),
        texts("Customer", "Acme GmbH", "Beta SA", "Core AG", "Delta SL"),
        texts("Status", "paid", "open", "returning"),
    ),
)
SHORT: Final = {"[Revenue (EUR)]": "revenue", "[Unit Price (EUR)]": "price", " over the rows of orders.csv": ""}


def read(question: str, *tables: TableProfile) -> str:
    """The expression, with short names; empty if there is no plan."""
    chosen = tables or (ORDERS,)
    found = understand(question, chosen)
    if not isinstance(found, Understood):
        return ""
    told = expression(found.reading.plan, {table.name: table for table in chosen})
    for long, short in SHORT.items():
        told = told.replace(long, short)
    return told
