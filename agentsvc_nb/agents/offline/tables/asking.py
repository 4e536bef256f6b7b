"""A question asked of a chat's tables: their profiles are read, the question is understood, its plan computed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from agentsvc_nb.agents.offline.basis import RESULTS, AnswerPart, without_result
from agentsvc_nb.agents.offline.questions import mentions
from agentsvc_nb.agents.offline.tables.answers import answered, asked_back
from agentsvc_nb.agents.offline.tables.following.context import InContext, alone, in_context, may_go_on, told
from agentsvc_nb.agents.offline.tables.understanding import AskedBack, NotAboutTables, Understood
from agentsvc_nb.agents.offline.writing import code
from agentsvc_nb.formats.plans.profiles import PlanError, TableProfile
from agentsvc_nb.formats.safe_text import escape
from agentsvc_nb.tools.port import WorkFailure, WorkspaceTables

_FIT_MIN: Final = 0.6
"""The share of a question's words that must have a meaning in a table, so that it is asked back about it."""


History = Callable[[], Awaitable[Sequence[str]]]
"""The questions before one that were answered of tables, the latest first."""


async def ask(
    question: str, paths: Sequence[str], source: WorkspaceTables, history: History
) -> tuple[list[AnswerPart], bool]:
    """The result, or why there is none; and whether it suffices, so that no passages follow. There are no parts when
    the question is not about tables."""
    asked = mentions(question, paths)
    if asked.unknown:
        lines = (f"There is no file {code(name)} in this chat.\n\n" for name in asked.unknown)
        return [without_result("nothing", "".join(lines))], False
    try:
        tables = [table for file in await source.profiles() for table in file.tables]
        context = InContext(await asyncio.to_thread(alone, question, tables, paths))
        if tables and may_go_on(question, context.found) and (before := await history()):
            context = await asyncio.to_thread(in_context, question, before, tables, paths, context.found)
        understood = context.found
        if isinstance(understood, Understood):
            return [await _computed(understood, context, tables, source)], True
    except WorkFailure as failure:
        return [without_result("nothing", f"{escape(failure.message or failure.code)}\n\n")], False
    if isinstance(understood, NotAboutTables) or understood.fit < _FIT_MIN:
        return [], False
    return [asked_back(understood)], not (understood.lost or understood.unclear)


async def _computed(
    understood: Understood, context: InContext, tables: Sequence[TableProfile], source: WorkspaceTables
) -> AnswerPart:
    try:
        found = await source.compute(understood.reading.plan)
    except PlanError as error:
        return asked_back(AskedBack((), str(error)))
    understood = replace(understood, told=(*told(context), *understood.told))
    made = answered(understood, found, {table.name: table for table in tables})
    return replace(made, found=found, after=context.before) if made.basis.basis in RESULTS else made
