"""A calculation on a table, as it is planned before it is carried out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline.measures import Measure
from agentsvc_nb.service.work.agents.offline.values import Filter


@dataclass(frozen=True)
class Plan:
    """One calculation on one table: `operation` over `rows` (indices from 0) of `measure`, or of the rows themselves.

    With `group` it is made for each value of that column. `extreme` (`min`, `max`) then asks for the first group;
    `first` is how many rows or groups are wanted, 0 for all. `fit` is how well the table suits the question. `dropped`
    are the rows that meet the conditions but hold no number; `entity` is the column that names what is asked for, and
    `subject` the one that names what is counted.
    """

    table: Table
    operation: str
    rows: Sequence[int]
    measure: Measure | None = None
    filters: Sequence[Filter] = ()
    group: int | None = None
    distinct: int | None = None
    extreme: str = ""
    first: int = 0
    fit: float = 0.0
    dropped: Sequence[int] = ()
    entity: int | None = None
    subject: int | None = None
    turned: bool = False
    """Whether the best is the lowest: a rank."""
    guessed: Sequence[tuple[str, str]] = ()
    """Words that were taken for slips of the pen, each with the column that was read."""
    explained: int = 0
    """How many words of the question have a part in it."""
