"""What the service and the process of tables say to each other, as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from agentsvc_nb.formats.charts.choosing import ChartKind
from agentsvc_nb.formats.engine.answers import Plot, QueryAnswer
from agentsvc_nb.formats.plans.plan import Plan
from agentsvc_nb.formats.plans.profiles import TableProfile
from agentsvc_nb.formats.plans.results import Result


@dataclass(frozen=True, slots=True)
class TableFile:
    """A content with tables: its hash, its format as an ending (`.csv`), and where it is."""

    sha256: str
    ending: str
    file: str

    @property
    def key(self) -> str:
        """What its tables are kept by."""
        return f"{self.sha256}{self.ending}"


@dataclass(frozen=True, slots=True)
class UsedTable:
    """A table of a file, at `place` among them (from 0), and what it is called."""

    file: TableFile
    place: int
    profile: TableProfile


class ReadQuestion(BaseModel):
    """Which tables are in the file?"""

    file: TableFile
    is_a: Literal["read"] = "read"


class ComputeQuestion(BaseModel):
    """What is the result of the plan?"""

    plan: Plan
    tables: tuple[UsedTable, ...]
    is_a: Literal["compute"] = "compute"


class ChartQuestion(BaseModel):
    """What does the result look like?"""

    result: Result
    title: str
    kind: ChartKind | None = None
    is_a: Literal["chart"] = "chart"


class SqlQuestion(BaseModel):
    """What does the query give?"""

    sql: str
    tables: tuple[UsedTable, ...]
    plot: Plot | None = None
    is_a: Literal["sql"] = "sql"


Question = ReadQuestion | ComputeQuestion | SqlQuestion | ChartQuestion


class TableQuestion(BaseModel):
    """A question, and the folder where tables are kept."""

    folder: str
    question: Annotated[Question, Field(discriminator="is_a")]


class TableAnswer(BaseModel):
    """What was asked for, or an error: a code, and a sentence."""

    tables: tuple[TableProfile, ...] = ()
    result: Result | None = None
    query: QueryAnswer | None = None
    picture: str = ""
    """A PNG of the query or the chart, in base64."""
    error: tuple[Literal["unreadable", "plan", "query", "chart", "too_much"], str, str] | None = None
    """What failed, the code of a plan's error, and a sentence."""
