"""Tools that query the chat's tables in SQL: on copies, in a child process without other access (`table_child`)."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, Field

from agentsvc_nb.formats.children.turns import FairTurns
from agentsvc_nb.formats.safe_text import escape, table
from agentsvc_nb.formats.sandbox import LimitedChild, Limits
from agentsvc_nb.tools import shares
from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext, WorkFailure

CHILD: Final = "agentsvc_nb.tools.workspace.table_child"
LIMITS: Final = Limits(memory_bytes=3 * 2**30, cpu_seconds=20)
PATIENCE_SECONDS: Final = 60.0
ANSWER_BYTES: Final = 50_000_000
"""Limit of the child's answer: cells, and a picture in base64."""
AT_ONCE: Final = 3
_turns = FairTurns(AT_ONCE, share=AT_ONCE - 1)


async def query(files: list[dict[str, str]], sql: str, plot: dict[str, str] | None = None) -> dict[str, Any]:
    """Run SQL on the files. Returns `columns`, `rows`, `more` (whether there are further rows), `notes` (how the
    tables were read) and, for a plot, `picture` (base64). Raises `WorkFailure`: `query_failed` with the engine's
    message, or `too_much_work`."""
    question = json.dumps({"files": files, "sql": sql, "plot": plot}).encode()
    async with _turns.turn(shares.account.get()):
        answer = await _ask_child(question)
    if not answer.endswith(b"\n"):
        raise WorkFailure("too_much_work", "The query took too long or too much memory: ask for less.")
    found: dict[str, Any] = json.loads(answer)
    if "error" in found:
        raise WorkFailure("query_failed", found["error"])
    return found


async def _ask_child(question: bytes) -> bytes:
    """The child's answer; incomplete if it does not end with a line break."""
    with tempfile.TemporaryDirectory(prefix="agentsvc-tables-") as folder:
        variables = {"MPLCONFIGDIR": folder}
        # When the run is cancelled, leaving the block kills the child, which ends the thread's wait for it.
        with LimitedChild(CHILD, limits=LIMITS, folder=Path(folder), variables=variables) as child:
            return await asyncio.to_thread(child.ask, question, PATIENCE_SECONDS, ANSWER_BYTES)


TABLES_MAX: Final = 20
KINDS: Final = (".csv", ".tsv", ".parquet", ".xlsx", ".xls", ".ods")


_SQL: Final = (
    "DuckDB SQL on the tables, each named as its file without ending; further sheets of a workbook have theirs added."
)


class ProfileTableInput(BaseModel):
    path: str = Field(description="A CSV, TSV, Parquet or Excel file of the workspace.")


class QueryTablesInput(BaseModel):
    sql: str = Field(max_length=10_000, description=_SQL)
    paths: list[str] = Field(default_factory=list, max_length=TABLES_MAX, description="The files; none: all tables.")


class PlotTablesInput(QueryTablesInput):
    kind: Literal["bar", "line", "scatter"] = Field(default="bar")
    title: str = Field(default="", max_length=200)
    path: str = Field(default="plot.png", pattern=r"\.png$", description="Where the picture goes.")


class _Tables(BaseTool):
    """What the three have in common: they need the table engine, and have no effect."""

    asynchronous: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False
    effect: ClassVar[bool] = False
    Output: ClassVar[type[BaseModel] | None] = None

    def available(self) -> bool:
        return find_spec("duckdb") is not None


class ProfileTable(_Tables):
    name: ClassVar[str] = "profile_table"
    description: ClassVar[str] = (
        "Tells of a table: its columns with types and ranges, its first rows, how many there are."
    )
    family: ClassVar[str] = "profile_table"
    Input: ClassVar[type[BaseModel]] = ProfileTableInput

    async def run(self, given: ProfileTableInput, task: ToolContext) -> Outcome:
        files = await _files(task, [given.path])
        name = files[0]["name"]
        columns = "column_name, column_type, min, max, approx_unique, null_percentage"
        count = f'SELECT count(*) AS rows FROM "{name}"'
        about = await query(files, f'SELECT {columns} FROM (SUMMARIZE "{name}")')
        first = await query(files, f'SELECT * FROM "{name}" LIMIT 5')
        rows = (await query(files, count))["rows"][0][0]
        return _text(f"Table {name}: {rows} rows.\n{_table(about)}\n\nFirst rows:\n{_table(first)}{_notes(first)}")


class QueryTables(_Tables):
    name: ClassVar[str] = "query_tables"
    description: ClassVar[str] = "Asks the chat's CSV, TSV, Parquet and Excel files a question in SQL."
    family: ClassVar[str] = "query_tables"
    Input: ClassVar[type[BaseModel]] = QueryTablesInput

    async def run(self, given: QueryTablesInput, task: ToolContext) -> Outcome:
        found = await query(await _files(task, given.paths), given.sql)
        return _text(_table(found) + _notes(found))


class PlotTables(_Tables):
    name: ClassVar[str] = "plot_tables"
    description: ClassVar[str] = "Draws what a query gives as a PNG: the first column across, the others up."
    family: ClassVar[str] = "plot_tables"
    Input: ClassVar[type[BaseModel]] = PlotTablesInput

    def available(self) -> bool:
        return super().available() and find_spec("matplotlib") is not None

    async def run(self, given: PlotTablesInput, task: ToolContext) -> Outcome:
        files = await _files(task, given.paths)
        drawn = await query(files, given.sql, {"kind": given.kind, "title": given.title})
        await task.write(given.path, base64.b64decode(drawn["picture"]))
        block = {"type": "image", "path": given.path, "media_type": "image/png"}
        return Outcome(content=[{"type": "text", "text": _table(drawn)}, block])


async def _files(task: ToolContext, paths: Sequence[str]) -> list[dict[str, str]]:
    """The files with their names in SQL; all tables of the chat when no paths are given. Raises `WorkFailure` for a
    file that is missing or no table."""
    listed = [entry.path for entry in await task.workspace.list()]
    chosen = list(paths) or [path for path in listed if _kind(path)][:TABLES_MAX]
    if not chosen:
        raise WorkFailure("file_not_found", "There is no table among the chat's files.")
    taken: dict[str, str] = {}
    for path in chosen:
        if path not in listed:
            raise WorkFailure("file_not_found", f"There is no file {path!r}: list_files tells what there is.")
        if not _kind(path):
            raise WorkFailure("invalid_tool_input", f"{path} is no CSV, TSV, Parquet or Excel file.")
        taken[_name(path, taken)] = path
    return [
        {"name": name, "file": str(await task.workspace.open(path)), "kind": _kind(path)}
        for name, path in taken.items()
    ]


def _kind(path: str) -> str:
    """The format of a file of tables, as its ending; empty if it is none."""
    ending = PurePosixPath(path).suffix.lower()
    return ending[1:] if ending in KINDS else ""


def _name(path: str, taken: dict[str, str]) -> str:
    stem = re.sub(r"\W+", "_", PurePosixPath(path).stem).strip("_").lower() or "table"
    number, name = 1, stem
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    return name


def _table(found: dict[str, Any]) -> str:
    """The rows of a query's answer as a Markdown table."""
    more = f"\n[the first {len(found['rows'])} rows; there are more]\n" if found["more"] else ""
    return f"{table(found['columns'], found['rows'])}{more}".removesuffix("\n")


def _notes(found: dict[str, Any]) -> str:
    """What was decided when the tables were read."""
    lines = [f"- {escape(note)}" for note in found["notes"]]
    return "\n".join(["", "", "How the tables were read:", *lines]) if lines else ""


def _text(text: str) -> Outcome:
    return Outcome(content=[{"type": "text", "text": text}])
