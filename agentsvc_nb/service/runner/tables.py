"""The tables of a chat, named and asked (`tools.port.WorkspaceTables`)."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from agentsvc_nb.formats.children import fairness
from agentsvc_nb.formats.engine.messages import (
    ChartQuestion,
    ComputeQuestion,
    FileTables,
    Plot,
    QueryAnswer,
    SqlQuestion,
    TableAnswer,
    TableFile,
    UsedTable,
)
from agentsvc_nb.formats.media_types import table_ending
from agentsvc_nb.formats.plans.charts import ChartError, ChartKind
from agentsvc_nb.formats.plans.plan import Plan
from agentsvc_nb.formats.plans.profiles import PlanError, TableProfile, file_names, named
from agentsvc_nb.formats.plans.results import Result
from agentsvc_nb.formats.queries import is_scratch
from agentsvc_nb.tools.port import COMPUTED, WorkFailure, WorkspaceEntry

FILES_MAX: Final = 100
_TOO_MANY: Final = f"It is not among the first {FILES_MAX} files with tables, which are read: name it to have it read."


class TableAsker(Protocol):
    """What answers questions about tables (`formats.engine.process.TableProcess`)."""

    async def read(self, file: TableFile, account: str) -> TableAnswer: ...
    async def ask(self, question: ComputeQuestion | SqlQuestion | ChartQuestion, account: str) -> TableAnswer: ...


class ChatTables:
    """Names hold for as long as this object: a file that is replaced meanwhile is asked as it was when it was named."""

    def __init__(
        self,
        entries: Callable[[], Awaitable[Sequence[WorkspaceEntry]]],
        file_of: Callable[[WorkspaceEntry], Path],
        asker: TableAsker,
    ) -> None:
        self._entries = entries
        self._file_of = file_of
        self._asker = asker
        self._named: dict[str, UsedTable] = {}

    async def profiles(self, paths: Sequence[str] = ()) -> Sequence[FileTables]:
        entries = {entry.path: entry for entry in await self._entries()}
        for path in paths:
            if path not in entries:
                raise FileNotFoundError(path)
        files = {path: file for path, entry in entries.items() if (file := self._file(entry)) is not None}
        every = [path for path in files if not is_scratch(path) and entries[path].output_type not in COMPUTED]
        chosen = [path for path in files if path in paths] if paths else every[:FILES_MAX]
        answers = await asyncio.gather(*(self._asker.read(files[path], fairness.account.get()) for path in chosen))
        made = named({path: said.tables for path, said in zip(chosen, answers, strict=True)}, file_names(files))
        for path in chosen:
            for place, profile in enumerate(made[path]):
                self._named[profile.name] = UsedTable(files[path], place, _without_values(profile))
        unreadable = {path: said.error[2] for path, said in zip(chosen, answers, strict=True) if said.error}
        if paths:
            unreadable.update((path, "The file is none of tables.") for path in paths if path not in files)
        else:
            unreadable.update((path, _TOO_MANY) for path in every[FILES_MAX:])
        shown = [path for path in entries if path in made or path in unreadable]
        return [FileTables(path, made.get(path, ()), unreadable.get(path, "")) for path in shown]

    async def compute(self, plan: Plan) -> Result:
        wanted = [plan.table, plan.join.table] if plan.join else [plan.table]
        if any(name not in self._named for name in wanted):
            await self.profiles()
        used = tuple(self._named[name] for name in wanted if name in self._named)
        said = _sound(await self._asker.ask(ComputeQuestion(plan=plan, tables=used), fairness.account.get()))
        assert said.result is not None
        return said.result

    async def query(self, sql: str, paths: Sequence[str] = (), plot: Plot | None = None) -> QueryAnswer:
        found = await self.profiles(paths)
        used = tuple(self._named[table.name] for one in found for table in one.tables)
        said = _sound(await self._asker.ask(SqlQuestion(sql=sql, tables=used, plot=plot), fairness.account.get()))
        assert said.query is not None
        return replace(said.query, picture=base64.b64decode(said.picture))

    async def chart(self, result: Result, title: str, kind: ChartKind | None = None) -> bytes:
        question = ChartQuestion(result=result, title=title, kind=kind)
        return base64.b64decode(_sound(await self._asker.ask(question, fairness.account.get())).picture)

    def _file(self, entry: WorkspaceEntry) -> TableFile | None:
        ending = table_ending(entry.path, entry.media_type)
        return TableFile(entry.sha256, ending, str(self._file_of(entry).absolute())) if ending else None


def _without_values(profile: TableProfile) -> TableProfile:
    return replace(profile, columns=tuple(replace(column, values=()) for column in profile.columns))


def _sound(said: TableAnswer) -> TableAnswer:
    """The answer, if it is no error. Raises `PlanError`, `ChartError` and `WorkFailure`."""
    match said.error:
        case None:
            return said
        case ("plan", code, sentence):
            raise PlanError(code, sentence)
        case ("chart", _, sentence):
            raise ChartError(sentence)
        case ("too_much", _, sentence):
            raise WorkFailure("too_much_work", sentence)
        case (_, _, sentence):
            raise WorkFailure("query_failed", sentence)
