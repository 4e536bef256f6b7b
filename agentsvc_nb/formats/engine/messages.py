"""What the service and the process of tables say to each other: questions are pickled, for the service is trusted;
answers, of a process that reads files of strangers, are JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

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


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """Which tables are in the file?"""

    file: TableFile


@dataclass(frozen=True, slots=True)
class ComputeQuestion:
    """What is the result of the plan?"""

    plan: Plan
    tables: tuple[UsedTable, ...]


@dataclass(frozen=True, slots=True)
class SqlQuestion:
    """What does the query give?"""

    sql: str
    tables: tuple[UsedTable, ...]
    plot: Plot | None = None


Question = ReadQuestion | ComputeQuestion | SqlQuestion


class TableAnswer(BaseModel):
    """What was asked for, or an error."""

    model_config = ConfigDict(defer_build=True)

    tables: tuple[TableProfile, ...] = ()
    result: Result | None = None
    query: QueryAnswer | None = None
    picture: str = ""
    """Of the query, in base64."""
    error: tuple[Literal["unreadable", "plan", "query", "too_much"], str, str] | None = None
    """What failed, the code of a plan's error, and a sentence."""
