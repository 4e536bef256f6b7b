"""Means of rates: each row counts the same, whatever it stands for. That is an answer where it is asked for as such,
and where a table has nothing by which its rows could be weighed; the answer says so."""

from __future__ import annotations

from dataclasses import replace

from agentsvc_nb.agents.offline.tables.grammar.readings import QuestionReading
from agentsvc_nb.documents.plans.plan import Aggregate, Column, Plan, aggregates
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile, Tables
from agentsvc_nb.documents.plans.roles import is_identifier, is_label, is_rank, is_ratio


def unweighted(reading: QuestionReading) -> QuestionReading | None:
    """The reading of a question that asks for a plain mean; None where it takes no mean."""
    means = any(one.operation == "mean" for one in aggregates(reading.plan.measures))
    return replace(reading, settled=(*reading.settled, "mean_of_ratios")) if means else None


def has_no_weights(plan: Plan, tables: Tables) -> bool:
    """Whether the plan reads one table, whose numbers are all rates, or names of something."""
    table = tables.get(plan.table)
    return table is not None and plan.join is None and not any(_may_weigh(one, table) for one in table.columns)


def _may_weigh(column: ColumnProfile, table: TableProfile) -> bool:
    named = is_label(column) or is_rank(column) or is_identifier(column, table)
    return column.kind == "number" and not named and not is_ratio(column)


def rates_averaged(plan: Plan, tables: Tables) -> list[str]:
    """The columns of rates that the plan takes plain means of."""
    means = (one.operand for one in aggregates(plan.measures) if one.operation == "mean" and isinstance(one, Aggregate))
    return [one.name for one in means if isinstance(one, Column) and is_ratio(tables[one.table].column(one.name))]
