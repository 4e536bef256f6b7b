"""Define the tools with which an agent describes and queries the tables in a chat's files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from pydantic import BaseModel, Field

from agentsvc_nb.documents.engine.messages import ROWS_MAX, SAVED_ROWS_MAX, FileTables, QueryAnswer
from agentsvc_nb.documents.safe_text import escape, table
from agentsvc_nb.documents.tables.results import SCHEMA
from agentsvc_nb.tools.port import LABELS, LABELS_MAX, Outcome, ReadingTool, ToolContext, WorkFailure
from agentsvc_nb.tools.workspace.files import file_not_found
from agentsvc_nb.tools.workspace_port import WorkspaceTables

NO_TABLE: Final = "It has no tables."
PATHS_MAX: Final = 20
_SQL: Final = (
    "DuckDB's SQL. A table is named after its file, in lower case with _ for other characters (`Sales "
    "2024.csv` is sales_2024). profile_table shows the names of further sheets and tables of a file."
)
_FILES: Final = "CSV, Excel, Parquet, JSON, and tables in HTML, Markdown and Word"


class ProfileTableInput(BaseModel):
    path: str = Field(description="The path of a file with tables.")
    table: str = Field(
        default="", max_length=200, description="The name of the table. If left out, the file's first table."
    )


class QueryTablesInput(BaseModel):
    sql: str = Field(max_length=10_000, description=_SQL)
    paths: list[str] = Field(
        default_factory=list, max_length=PATHS_MAX, description="The files to use. If left out, all files."
    )
    save_as: str = Field(
        default="",
        max_length=500,
        pattern=r"^$|\.csv$",
        description=f"The path of a CSV file to write the rows to, at most {SAVED_ROWS_MAX:,}.",
    )
    labels: list[str] = Field(default_factory=list, max_length=LABELS_MAX, description=LABELS)


class ProfileTable(ReadingTool):
    name: ClassVar[str] = "profile_table"
    description: ClassVar[str] = (
        "Describes a table: columns with types and ranges, the number of rows, the first ones, and the file's other "
        "tables, such as sheets."
    )
    Input: ClassVar[type[BaseModel]] = ProfileTableInput

    async def run(self, given: ProfileTableInput, task: ToolContext) -> Outcome:
        tables = task.workspace.tables
        (file,) = await _find_tables(tables, [given.path])
        by_name = {table.name: table for table in file.tables}
        shown = by_name.pop(given.table or file.tables[0].name, None)
        if shown is None:
            raise WorkFailure("invalid_tool_input", f"table: the tables of {given.path} are {', '.join(by_name)}.")
        columns = "column_name, column_type, min, max, approx_unique, null_percentage"
        summary = await tables.query(f'SELECT {columns} FROM (SUMMARIZE "{shown.name}")', [given.path])
        rows = await tables.query(f'SELECT * FROM "{shown.name}" LIMIT 5', [given.path])
        text = f"Table {shown.name}: {shown.rows} rows." + (f" The file is {shown.form}." if shown.form else "")
        text += f"\n{_table(summary)}\n\nFirst rows:\n{_table(rows)}{_notes(rows)}"
        if by_name:
            text += f"\n\nFurther tables of the file: {', '.join(by_name)}."
        return Outcome.from_text(text)


class QueryTables(ReadingTool):
    name: ClassVar[str] = "query_tables"
    description: ClassVar[str] = (
        f"Counts, adds up, filters and joins tables in SQL: {_FILES}. Shows {ROWS_MAX} rows; `save_as` writes all "
        "of them to a file."
    )
    Input: ClassVar[type[BaseModel]] = QueryTablesInput

    def reads(self, given: Mapping[str, Any]) -> bool:
        return not given.get("save_as")

    async def run(self, given: QueryTablesInput, task: ToolContext) -> Outcome:
        files = await _find_tables(task.workspace.tables, given.paths)
        try:
            found = await task.workspace.tables.query(given.sql, given.paths, save=bool(given.save_as))
        except WorkFailure as failure:
            raise WorkFailure(failure.code, "\n".join([failure.message, *_unread_files(files)])) from None
        if not given.save_as:
            return Outcome.from_text(_table(found) + _notes(found))
        output = (f"table_{hashlib.sha256(found.saved).hexdigest()[:16]}", "table")
        await task.write(given.save_as, found.saved, output=output)
        if len(set(found.columns)) == len(found.columns):
            await task.write(given.save_as.removesuffix(".csv") + SCHEMA, _schema(found), output=output)
        head = replace(found, rows=found.rows[:5], more=False)
        count = f"Wrote {found.saved_rows:,} rows to {given.save_as}."
        return Outcome.from_text(f"{count} The first:\n\n{_table(head)}{_notes(found)}")


async def _find_tables(tables: WorkspaceTables, paths: Sequence[str]) -> Sequence[FileTables]:
    """Return the tables of the files in `paths`, or of all files of the chat if `paths` is empty.

    Raises `WorkFailure` if a given file is missing or has no table, or if no file has a table.
    """
    try:
        found = await tables.profiles(paths)
    except FileNotFoundError as error:
        raise file_not_found(str(error)) from None
    for one in found if paths else ():
        if not one.tables:
            said = f"{one.path} can't be read as a table: {one.unreadable or NO_TABLE}"
            raise WorkFailure("invalid_tool_input", said)
    if not any(one.tables for one in found):
        said = "\n".join(["None of the chat's files has a table.", *_unread_files(found)])
        raise WorkFailure("file_not_found", said)
    return found


def _unread_files(files: Sequence[FileTables]) -> list[str]:
    """Return sentences about files whose tables could not be read because of a limit."""
    return [f"{one.path} can't be read as a table: {one.unreadable}" for one in files if one.too_much]


def _table(found: QueryAnswer) -> str:
    """Return the result of a query as a Markdown table."""
    more = f"\n[the first {len(found.rows)} rows; there are more]\n" if found.more else ""
    return f"{table(found.columns, found.rows)}{more}".removesuffix("\n")


def _schema(found: QueryAnswer) -> bytes:
    """Return the Table Schema for a CSV file with a query's rows (docs/api/files.md "Tables")."""
    fields = [{"name": name, "type": kind} for name, kind in zip(found.columns, found.types, strict=True)]
    told = {"fields": fields, "missingValues": [""], "rows": found.saved_rows}
    return json.dumps(told, ensure_ascii=False, indent=1).encode("utf-8", "replace")


def _notes(found: QueryAnswer) -> str:
    """Return a Markdown list of notes about how the tables were read, or "" if there are none."""
    lines = [f"- {escape(note)}" for note in found.notes]
    return "\n".join(["", "", "How the tables were read:", *lines]) if lines else ""
