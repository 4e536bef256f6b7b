"""The result of a plan: rows with what their columns are, and an account of the rows of the table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from pydantic import TypeAdapter

from agentsvc_nb.formats.plans.conditions import Value
from agentsvc_nb.formats.plans.profiles import Kind


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column: `decimals` are shown, of a `quotient` up to two more; `by` is the period of its dates, or `weekday`. A
    `label` says with numbers which one, not how much."""

    title: str
    kind: Kind
    unit: str = ""
    decimals: int = 0
    quotient: bool = False
    by: str = ""
    label: bool = False


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows that had no part in the result: a condition on `column` could not be decided as it is empty there
    (`undecided`), they have no value to compute with (`empty`), the divisor is 0 (`zero`), or the other table has no
    such key (`unmatched`)."""

    reason: Literal["undecided", "empty", "zero", "unmatched"]
    column: str
    rows: int


@dataclass(frozen=True, slots=True)
class Result:
    """Rows of exact numbers, texts and dates; None is no value. `used` of the table's `total` rows were computed with;
    `more` says that the rows of the result go on."""

    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Value | None, ...], ...]
    total: int
    used: int
    left_out: tuple[LeftOut, ...] = ()
    more: bool = False


@cache
def _results() -> TypeAdapter[Result]:
    """Made when it is first needed: it takes a tenth of a second."""
    return TypeAdapter(Result)


def to_json(result: Result) -> str:
    return _results().dump_json(result).decode()


def from_json(text: str) -> Result:
    """Raises `ValueError` for what is no result."""
    return _results().validate_json(text)
