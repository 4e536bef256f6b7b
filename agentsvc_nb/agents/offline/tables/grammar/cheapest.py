"""Readings of superlatives that say themselves of which column they are: `the cheapest product`, `the oldest`."""

from __future__ import annotations

from agentsvc_nb.agents.offline.tables.grammar.firsts import (
    at_place,
    extreme,
    first_of,
    how_many,
    paired,
    row_or_extreme,
)
from agentsvc_nb.agents.offline.tables.grammar.implied import OF_PERIODS, SUMMED, charged, goods, implied_columns
from agentsvc_nb.agents.offline.tables.grammar.phrases import aggregate
from agentsvc_nb.agents.offline.tables.grammar.readings import (
    LIMIT_MAX,
    Parts,
    QuestionReading,
    either,
    focus,
    period_asked,
)
from agentsvc_nb.agents.offline.tables.grammar.rules import has, values
from agentsvc_nb.agents.offline.tables.grammar.superlatives import row_names
from agentsvc_nb.documents.plans.plan import Column, Group
from agentsvc_nb.documents.plans.roles import is_identifier


def implied(parts: Parts) -> QuestionReading | None:
    """The row or the group that is first by the column that the superlative says."""
    item = next(item for item in parts.core if item.tag in ("implied", "implied_more"))
    which, _, direction = item.value.partition(" ")
    parts = paired(parts)
    if (item.tag == "implied_more" and not either(parts)) or set(values(parts.core, "op")) - {"mean"}:
        return None
    found, descending = _columns(which, direction == "desc", parts)
    named = values(parts.core, "column")
    explicit = [one for one in named if one in found]
    subjects = [one for one in named if one not in explicit and not _only_names_rows(one, parts)]
    limit = how_many(parts)
    if len(explicit) > 1 or len(subjects) > 1 or (not explicit and len(found) != 1) or not 1 <= limit <= LIMIT_MAX:
        return None
    column = explicit[0] if explicit else found[0]
    subject = _subject(subjects, column, which, limit, parts)
    if subject is not None:
        return at_place(_first(subject, column, which, descending, limit, parts), parts)
    if group := period_asked(parts.core, parts):
        which = "mean" if has(parts.core, "op") else which
        return at_place(_first_period(group, column, which, descending, limit, parts), parts)
    alone = limit == 1 and (explicit or (has(parts.core, "wh") and named))
    return extreme(column, descending, parts) if alone and not has(parts.core, "op") else None


def _columns(which: str, descending: bool, parts: Parts) -> tuple[list[Column], bool]:
    """What may be meant, and whether its largest is."""
    links = parts.links
    found = implied_columns(which, links, descending)
    if which == "cost" and len(found) != 1 and "title" in values(parts.core, "rows"):
        found = [size] if (size := charged(links)) else []  # `the most expensive order` is that of the largest total
    if which == "age" and not found:
        return [links.column(one.name) for one in links.named("birth", "born") if one.kind != "text"], not descending
    return found, descending


def _subject(subjects: list[Column], column: Column, which: str, limit: int, parts: Parts) -> Column | None:
    """What the first is looked for among: a column that is named, or that the question word or the rows ask for."""
    links = parts.links
    by_rows = parts.conditions or has(parts.core, "rows")
    subject = subjects[0] if subjects else focus(parts) or (links.label() if by_rows else None)
    if subject == column:
        subject = None
    if subject is None and which == "quantity":
        subject = goods(links)
    if subject is None and "period" in values(parts.core, "rows"):
        subject = links.row_dates()
    return row_names(parts) if subject is None and limit > 1 else subject


def _first(
    subject: Column, column: Column, which: str, descending: bool, limit: int, parts: Parts
) -> QuestionReading | None:
    if has(parts.core, "op"):
        mean = aggregate("mean", column, parts.links)
        return first_of(subject, None, (mean,), True, descending, limit, parts) if mean else None
    if which in SUMMED:
        return first_of(subject, None, column, True, descending, limit, parts)
    return row_or_extreme(subject, column, descending, limit, parts)


def _first_period(
    group: Group, column: Column, which: str, descending: bool, limit: int, parts: Parts
) -> QuestionReading | None:
    """`the wettest month` by its sum, `the hottest month` by its highest."""
    operation = "mean" if which == "mean" else "sum" if which in SUMMED else "max" if descending else "min"
    made = aggregate(operation, column, parts.links) if which in (*OF_PERIODS, "mean") else None
    return first_of(None, group, (made,), True, descending, limit, parts) if made else None


def _only_names_rows(column: Column, parts: Parts) -> bool:
    identifies = is_identifier(parts.links.profile(column), parts.links.table)
    return (
        identifies
        and has(parts.core, "implied")
        and parts.core[0].tag != "wh"
        and len(values(parts.core, "column")) > 1
    )
