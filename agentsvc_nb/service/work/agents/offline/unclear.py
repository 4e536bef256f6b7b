"""What a question leaves open: said in one sentence, since a wrong number is worse than none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentsvc_nb.safe.literal import escape
from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline.markdown import code

_COLUMNS_SHOWN = 20


@dataclass(frozen=True)
class Unclear:
    """Why nothing is computed on a table. `fit` as of a plan; 0 when passages may answer better."""

    table: Table
    sentence: str
    fit: float = 0.0
    explained: int = 0
    withheld: bool = False
    """Whether something could be computed, which is not what was asked."""


def several(table: Table, columns: Sequence[int], fit: float) -> Unclear:
    names = ", ".join(escape(table.columns[index]) for index in columns)
    return Unclear(
        table, f"The question names more than one column of {code(table.path)}: {names}. Ask for one at a time.", fit
    )


def no_column(table: Table, words: str, fit: float = 0.0) -> Unclear:
    names = ", ".join(map(escape, table.columns[:_COLUMNS_SHOWN]))
    names += ", …" if len(table.columns) > _COLUMNS_SHOWN else ""
    return Unclear(table, f"There is no column {escape(words)} in {code(table.path)}; its columns are {names}.", fit)


def no_value(table: Table, name: str, fit: float) -> Unclear:
    return Unclear(table, f"There is no {escape(name)} in {code(table.path)}, so there is no result for it.", fit)
