"""DataFrames of the user's kernel as tables to compute on: the caller lists its variables, and copies a table, whole,
into the chat's files (docs/notebook.md "In your kernel")."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agentsvc_nb.agents.offline.writing import code
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.documents.engine.messages import FileTables, Plot, QueryAnswer
from agentsvc_nb.documents.plans.charts import ChartKind
from agentsvc_nb.documents.plans.plan import Plan
from agentsvc_nb.documents.plans.results import Result
from agentsvc_nb.documents.safe_text import escape
from agentsvc_nb.tools.port import Outcome
from agentsvc_nb.tools.workspace_port import WorkspaceTables

LIST: Final = "list_variables"
COPY: Final = "copy_table"
USED: Final = frozenset({LIST, COPY, "show_variable", "run_in_kernel", "edit_cell"})
"""The tools of a kernel: of those that are not called here nothing is said, as their user sees it."""
TABLES_MAX: Final = 8


@dataclass(frozen=True)
class KernelTables:
    """The tables that were copied, by their path in the chat, with the variables that they were; and sentences on those
    that could not be."""

    variables: Mapping[str, str] = field(default_factory=dict)
    told: Sequence[str] = ()


def offered(turn: RunContext) -> bool:
    """Whether the caller hands over its tables."""
    return {LIST, COPY} <= {tool.name for tool in turn.client_tools()}


async def copied(turn: RunContext, question: str) -> KernelTables:
    """Have the DataFrames copied that the question names; all, when it names none."""
    names = _frames(await turn.call(LIST, {}))
    words = {word.casefold() for word in re.findall(r"\w+", question)}
    chosen = [name for name in names if name.casefold() in words] or names
    variables, told = dict[str, str](), list[str]()
    for name in chosen[:TABLES_MAX]:
        outcome = await turn.call(COPY, {"name": name})
        path = _told(outcome).get("path")
        if outcome.error is None and isinstance(path, str):
            variables[path] = name
        else:
            told.append(f"{code(name)} was not looked at: {escape(_why(outcome))}\n\n")
    if left := chosen[TABLES_MAX:]:
        told.append(f"Name one of these variables to have it looked at: {', '.join(map(code, left))}.\n\n")
    there = {entry.path for entry in await turn.workspace.list()}
    return KernelTables({path: name for path, name in variables.items() if path in there}, told)


def _frames(listed: Outcome) -> list[str]:
    """The names of the DataFrames; the caller is no more trusted than any client."""
    rows = _told(listed).get("variables")
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    names = [row.get("name") for row in found if str(row.get("type", "")).endswith(".DataFrame")]
    return [name for name in names if isinstance(name, str)]


def _told(outcome: Outcome) -> dict[str, Any]:
    found = next((block.get("json") for block in outcome.content if block.get("type") == "json"), None)
    return found if isinstance(found, dict) else {}


def _why(outcome: Outcome) -> str:
    texts = (str(block.get("text", "")) for block in outcome.content if block.get("type") == "text")
    return next(filter(None, texts), outcome.error[1] if outcome.error else "it was not handed over.")


class WithKernelTables:
    """The tables of a chat, and before them those of the kernel, called as their variables."""

    def __init__(self, own: WorkspaceTables, variables: Mapping[str, str]) -> None:
        self._own = own
        self._variables = variables

    async def profiles(self, paths: Sequence[str] = ()) -> Sequence[FileTables]:
        if paths:
            return await self._own.profiles(paths)
        copies = await self._own.profiles(list(self._variables)) if self._variables else ()
        return [*map(self._renamed, copies), *await self._own.profiles()]

    def _renamed(self, file: FileTables) -> FileTables:
        name = self._variables[file.path]
        return replace(file, path=name, tables=tuple(replace(table, path=name) for table in file.tables))

    async def compute(self, plan: Plan) -> Result:
        return await self._own.compute(plan)

    async def query(
        self, sql: str, paths: Sequence[str] = (), plot: Plot | None = None, *, save: bool = False
    ) -> QueryAnswer:
        return await self._own.query(sql, paths, plot, save=save)

    async def chart(self, result: Result, title: str, kind: ChartKind | None = None) -> bytes:
        return await self._own.chart(result, title, kind)
