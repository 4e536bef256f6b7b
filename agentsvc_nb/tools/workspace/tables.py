"""Tools that query the chat's tables in SQL, in the process of tables."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, Field

from agentsvc_nb.formats.engine.messages import FileTables, Plot, QueryAnswer
from agentsvc_nb.formats.safe_text import escape, table
from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext, WorkFailure, WorkspaceTables

NO_TABLE: Final = "It has none."
PATHS_MAX: Final = 20
_SQL: Final = (
    "DuckDB SQL on the tables, each named as its file without ending; further sheets of a workbook have theirs added."
)
_FILES: Final = "CSV, TSV, Excel, Parquet, JSON, and the tables in HTML, Markdown and Word"


class ProfileTableInput(BaseModel):
    path: str = Field(description=f"A file of the workspace with tables: {_FILES}.")


class QueryTablesInput(BaseModel):
    sql: str = Field(max_length=10_000, description=_SQL)
    paths: list[str] = Field(default_factory=list, max_length=PATHS_MAX, description="The files; none: all tables.")


class PlotTablesInput(QueryTablesInput):
    kind: Literal["bar", "line", "scatter"] = Field(default="bar")
    title: str = Field(default="", max_length=200)
    path: str = Field(default="plot.png", pattern=r"\.png$", description="Where the picture goes.")


class ProfileTable(BaseTool):
    name: ClassVar[str] = "profile_table"
    description: ClassVar[str] = (
        "Tells of a table: its columns with types and ranges, its first rows, how many there are."
    )
    family: ClassVar[str] = "profile_table"
    Input: ClassVar[type[BaseModel]] = ProfileTableInput

    async def run(self, given: ProfileTableInput, task: ToolContext) -> Outcome:
        tables = task.workspace.tables
        (found,) = await _checked(tables, [given.path])
        first, *others = found.tables
        columns = "column_name, column_type, min, max, approx_unique, null_percentage"
        about = await tables.query(f'SELECT {columns} FROM (SUMMARIZE "{first.name}")', [given.path])
        rows = await tables.query(f'SELECT * FROM "{first.name}" LIMIT 5', [given.path])
        said = f"Table {first.name}: {first.rows} rows.\n{_table(about)}\n\nFirst rows:\n{_table(rows)}{_notes(rows)}"
        if others:
            said += f"\n\nFurther tables of the file: {', '.join(table.name for table in others)}."
        return _text(said)


class QueryTables(BaseTool):
    name: ClassVar[str] = "query_tables"
    description: ClassVar[str] = f"Asks the tables in the chat's files a question in SQL: {_FILES}."
    family: ClassVar[str] = "query_tables"
    Input: ClassVar[type[BaseModel]] = QueryTablesInput

    async def run(self, given: QueryTablesInput, task: ToolContext) -> Outcome:
        found = await _asked(task.workspace.tables, given)
        return _text(_table(found) + _notes(found))


class PlotTables(BaseTool):
    name: ClassVar[str] = "plot_tables"
    description: ClassVar[str] = "Draws what a query gives as a PNG: the first column across, the others up."
    family: ClassVar[str] = "plot_tables"
    Input: ClassVar[type[BaseModel]] = PlotTablesInput

    def available(self) -> bool:
        return find_spec("matplotlib") is not None

    async def run(self, given: PlotTablesInput, task: ToolContext) -> Outcome:
        drawn = await _asked(task.workspace.tables, given, Plot(given.kind, given.title))
        mark = hashlib.sha256(drawn.picture).hexdigest()[:16]
        await task.write(given.path, drawn.picture, output=(f"chart_{mark}", "chart"))
        block = {"type": "image", "path": given.path, "media_type": "image/png"}
        return Outcome(content=[{"type": "text", "text": _table(drawn)}, block])


async def _asked(tables: WorkspaceTables, given: QueryTablesInput, plot: Plot | None = None) -> QueryAnswer:
    await _checked(tables, given.paths)
    return await tables.query(given.sql, given.paths, plot)


async def _checked(tables: WorkspaceTables, paths: Sequence[str]) -> Sequence[FileTables]:
    """The tables of these files, or of all. Raises `WorkFailure` if a file is missing or has none, or if none has."""
    try:
        found = await tables.profiles(paths)
    except FileNotFoundError as error:
        said = f"There is no file {str(error)!r}: list_files tells what there is."
        raise WorkFailure("file_not_found", said) from None
    for one in found if paths else ():
        if not one.tables:
            said = f"{one.path} can't be read as a table: {one.unreadable or NO_TABLE}"
            raise WorkFailure("invalid_tool_input", said)
    if not any(one.tables for one in found):
        raise WorkFailure("file_not_found", "There is no table among the chat's files.")
    return found


def _table(found: QueryAnswer) -> str:
    """The rows of a query's answer as a Markdown table."""
    more = f"\n[the first {len(found.rows)} rows; there are more]\n" if found.more else ""
    return f"{table(found.columns, found.rows)}{more}".removesuffix("\n")


def _notes(found: QueryAnswer) -> str:
    """What was decided when the tables were read."""
    lines = [f"- {escape(note)}" for note in found.notes]
    return "\n".join(["", "", "How the tables were read:", *lines]) if lines else ""


def _text(text: str) -> Outcome:
    return Outcome(content=[{"type": "text", "text": text}])
