"""Nouns that only say again what a value is of (`order A-117`), measures that are explained, and questions for the day,
the month or the year in which something was done."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from agentsvc_nb.agents.offline.tables.grammar.phrases import period
from agentsvc_nb.agents.offline.tables.grammar.readings import Parts, QuestionReading
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, Made, Rule, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.documents.plans.plan import Compared, Criterion, Group, Measure, column_of, leaves
from agentsvc_nb.documents.plans.roles import is_identifier


def _row_itself(items: Sequence[Item], links: TableLinks) -> Made:
    """`order A-117`: the noun of the rows before the name of one."""
    column, _ = items[1].value
    profile = links.profile(column)
    names_rows = is_identifier(profile, links.table) or column == links.label()
    return items[1] if names_rows and links.is_key(profile) else None


RESTATED: Final[tuple[Rule, ...]] = (Rule(re.compile(r"(?<!\S)(?<!count )(?<!distinct )rows cell "), _row_itself),)


def period_of_row(parts: Parts) -> QuestionReading | None:
    """`on what day was order A-117 shipped`, `in which year was X published`."""
    [by] = values(parts.core, "period")
    at = next(at for at, item in enumerate(parts.core) if item.tag == "period")
    asks = at > 0 and parts.core[at - 1] == Item("wh", "thing")
    if not asks or isinstance(by, tuple) or parts.groups or not _is_one_thing(parts):
        return None
    links, named = parts.links, values(parts.core, "column")
    if named and links.profile(named[0]) in links.years():
        return QuestionReading(parts.plan(groups=[Group(named[0])])) if by == "year" else None
    # Without a column of days it may have been done on another day than the row's.
    group = period(by, links, named[0]) if named else None
    return QuestionReading(parts.plan(groups=[group])) if group else None


def _is_one_thing(parts: Parts) -> bool:
    """Whether the conditions name one row, or one of as many as there are rows."""
    equal = [one for one in leaves(parts.where) if isinstance(one, Criterion) and one.operator == "="]
    columns = [column_of(one.left) for one in equal if isinstance(one.right, str)]
    return any(2 * parts.links.profile(one).distinct >= parts.links.table.rows for one in columns)


def _operands(measures: Sequence[Measure]) -> list[object]:
    """Of a ratio both sides, however it is written."""
    return [(one.left, one.right) if isinstance(one, Compared) and one.operation in ("ratio", "percent") else one
            for one in measures]  # fmt: skip


def said_once(items: Sequence[Item]) -> list[Item]:
    """The items, without a measure that was said before: `CTR (clicks divided by impressions)`. Where what explains a
    measure is another one, both are left, and no form has a place for them."""
    found = [_operands(one) for one in values(items, "measure")]
    ratios = all(isinstance(one, tuple) for sides in found for one in sides)
    if len(found) < 2 or not ratios or any(one != found[0] for one in found):
        return list(items)
    first = next(at for at, item in enumerate(items) if item.tag == "measure")
    return [item for at, item in enumerate(items) if item.tag != "measure" or at == first]
