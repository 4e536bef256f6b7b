"""A question asked of a chat's tables, and its answer: the headline, the calculation as an expression and as SQL, the
rows and what was left out, or what is asked back; and the files that the result leaves
(docs/api/files.md "Tables and charts")."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from agentsvc_nb.agents.offline.languages.charts import ChartWish
from agentsvc_nb.agents.offline.questions import mentions
from agentsvc_nb.agents.offline.tables.duplicates import (
    TABLES_MAX,
    columns_of_tables,
    duplicates,
    not_read,
    plan_of,
    several,
)
from agentsvc_nb.agents.offline.tables.following.context import InContext, alone, in_context, may_go_on, told
from agentsvc_nb.agents.offline.tables.grammar.readings import QuestionReading
from agentsvc_nb.agents.offline.tables.structure import Columns, NotRead, Structural, structural
from agentsvc_nb.agents.offline.tables.understanding import AskedBack, NotAboutTables, Understood
from agentsvc_nb.agents.offline.tables.unread import could_not_be_read, given_up, why
from agentsvc_nb.agents.offline.tables.weights import rates_averaged
from agentsvc_nb.agents.offline.tables.wording import measure, question, quoted
from agentsvc_nb.agents.offline.writing import RESULTS, AnswerPart, block, code, result, without_result
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.documents.media_types import safe_name
from agentsvc_nb.documents.plans.charts import ChartError, ChartKind
from agentsvc_nb.documents.plans.dialect import quoted as identifier
from agentsvc_nb.documents.plans.expressions import expression
from agentsvc_nb.documents.plans.plan import Aggregate, Compared, Criterion, Plan
from agentsvc_nb.documents.plans.profiles import PlanError, TableProfile, Tables
from agentsvc_nb.documents.plans.results import CSV, Result, ResultTooLong, exported, left_out, markdown, plain, shown
from agentsvc_nb.documents.plans.sql import sql
from agentsvc_nb.documents.safe_text import escape
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.workspace_port import WorkspaceTables
from agentsvc_nb.wire.runs import Basis

_FIT_MIN: Final = 0.6
"""The share of a question's words that must have a meaning in a table, so that it is asked back about it."""

History = Callable[[], Awaitable[Sequence[str]]]
"""The questions before one that were answered of tables, the latest first."""


async def ask(
    question: str, paths: Sequence[str], source: WorkspaceTables, history: History, attached: Collection[str] = ()
) -> tuple[list[AnswerPart], bool]:
    """The result, or why there is none; and whether it suffices, so that no passages follow. There are no parts when
    the question is not about tables. `attached` are the paths that came with the question: of several tables with an
    answer one of these is meant."""
    asked = mentions(question, paths)
    if asked.unknown:
        lines = (f"There is no file {code(name)} in this chat.\n\n" for name in asked.unknown)
        return [without_result("nothing", "".join(lines))], False
    try:
        files = await source.profiles()
        tables = [table for file in files for table in file.tables]
        unread = given_up(files, asked.files, attached)
        if unread and set(asked.files or paths) <= {file.path for file in unread}:
            return [could_not_be_read(unread)], True
        of_tables = structural(asked.text, _meant(tables, asked.files, attached))
        if found := await _of_structure(of_tables, source):
            return found, True
        context = InContext(await asyncio.to_thread(alone, question, tables, paths))
        # The chat is read only for a question that may go on from it: most stand alone.
        if tables and may_go_on(question, context.found) and (before := await history()):
            context = await asyncio.to_thread(in_context, question, before, tables, paths, context.found)
        understood = context.found
        if isinstance(understood, AskedBack) and understood.several:
            understood = await asyncio.to_thread(_of_attached, question, tables, paths, attached) or understood
        if isinstance(understood, Understood):
            understood = replace(understood, told=(*understood.told, *map(why, unread)))
            return [await _computed(understood, context, tables, source)], True
    except WorkFailure as failure:
        return [without_result("nothing", f"{escape(failure.message or failure.code)}\n\n")], True
    # Passages follow: a text may answer what no table is about.
    if unread:
        return [could_not_be_read(unread)], False
    if isinstance(understood, NotAboutTables) and isinstance(of_tables, NotRead):
        return [not_read(of_tables)], False
    if isinstance(understood, NotAboutTables) or understood.fit < _FIT_MIN:
        return [], False
    back = asked_back(understood, {table.name: table for table in tables}, asked.files)
    return [back], not (understood.lost or understood.unclear)


def _meant(tables: Sequence[TableProfile], files: Collection[str], attached: Collection[str]) -> list[TableProfile]:
    """The tables of the files that the question names, or came with; all, where there are none such."""
    for paths in (files, attached):
        if chosen := [table for table in tables if table.path in paths]:
            return chosen
    return list(tables)


async def _of_structure(asked: Structural, source: WorkspaceTables) -> list[AnswerPart]:
    if isinstance(asked, Columns):
        return columns_of_tables(asked)
    if not isinstance(asked, tuple):
        return []
    if len(asked) > 1 and asked[0].by:
        return [without_result("asked_back", several(asked))]
    return [duplicates(one, await source.compute(plan_of(one))) for one in asked[:TABLES_MAX]]


def _of_attached(
    question: str, tables: Sequence[TableProfile], paths: Sequence[str], attached: Collection[str]
) -> Understood | None:
    found = alone(question, [table for table in tables if table.path in attached], paths)
    if not isinstance(found, Understood):
        return None
    path = next(table.path for table in tables if table.name == found.reading.plan.table)
    return replace(
        found, told=(*found.told, f"Read in {path}, which came with the question; others could answer, too.")
    )


async def _computed(
    understood: Understood, context: InContext, tables: Sequence[TableProfile], source: WorkspaceTables
) -> AnswerPart:
    try:
        found = await source.compute(understood.reading.plan)
    except PlanError as error:
        return asked_back(AskedBack((), str(error)), {})
    understood = replace(understood, told=(*told(context), *understood.told))
    made = answered(understood, found, {table.name: table for table in tables})
    return replace(made, found=found, after=context.before) if made.basis.basis in RESULTS else made


HEADLINE_VALUES: Final = 5
VALUES_MAX: Final = 1000


def answered(understood: Understood, found: Result, tables: Tables) -> AnswerPart:
    """The result with all that stands behind it; or that nothing fits."""
    reading, table = understood.reading, tables[understood.reading.plan.table]
    line = expression(reading.plan, tables, found)
    joined, query = _joined(reading.plan, found, tables), sql(reading.plan, tables)
    rates = rates_averaged(reading.plan, tables)
    plain_means = [f"{one} is not weighted: each row counts the same." for one in rates]
    told = " ".join(escape(one) for one in (*understood.told, *plain_means, *joined, *_notes(table, query)))
    notes = f"{told}\n\n" if told else ""
    how = f"{notes}{block(query)}"
    values = values_of(reading, found)
    if reading.counted and found.more:
        many = f"More than {len(found.rows):,} fit, which are too many to count here. Ask for fewer."
        return without_result("asked_back", f"{many}\n\n{notes}")
    if reading.nth and found.rows and not values:
        return without_result(
            "asked_back", f"Several are equal at that place, or there is none.\n\n{markdown(found)}\n{notes}"
        )
    if not values or not (found.used or _is_verdict(reading, found)):
        out = f"{left_out(found)}\n\n" if found.left_out else ""
        return without_result("nothing", f"No row of {code(table.path)} fits.\n\n{code(line)}\n\n{out}{notes}")
    single = len(found.rows) == 1 and len(found.columns) == 1
    value = f" = {shown(found.rows[0][0], found.columns[0])}" if single else ""
    body = f"{left_out(found)}\n\n" if single and found.left_out else "" if single else f"{markdown(found)}\n"
    basis: Basis = "computed" if reading.plan.measures or reading.plan.limit is not None else "looked_up"
    headline = _headline(reading, found, " (unweighted)" if rates else "")
    return result(basis, headline, values[:VALUES_MAX], f"{code(line + value)}\n\n{body}{how}")


def _notes(table: TableProfile, query: str) -> list[str]:
    """How the table was read, but for columns that the query does not name."""
    unused = tuple(f"Column {one.name}: " for one in table.columns if identifier(one.name) not in query)
    return [note for note in table.notes if not note.startswith(unused)]


def _joined(plan: Plan, found: Result, tables: Tables) -> list[str]:
    """By what two tables were joined, and how many rows had a partner."""
    if plan.join is None:
        return []
    table, other = tables[plan.table], tables[plan.join.table]
    keys = " and ".join(own.name if own.name == key.name else f"{own.name} = {key.name}" for own, key in plan.join.keys)
    matched = found.total - sum(one.rows for one in found.left_out if one.reason == "unmatched")
    line = f"{table.path} joined to {other.path} by {keys}; {matched:,} of {found.total:,} rows matched."
    return [line, *other.notes]


def values_of(reading: QuestionReading, found: Result) -> list[str]:
    """What was asked: names or numbers, without separators or units; of a table, row by row."""
    if reading.verdict:
        return [verdict] if (verdict := _verdict(reading, found)) else []
    if reading.counted:
        return [] if found.more else [str(len(found.rows))]
    if reading.nth:
        rows = found.rows[-1:] if _stands_alone(reading.nth, found) else ()
        return [plain(row[place], found.columns[place]) for row in rows for place in reading.asked]
    places = reading.asked or range(len(found.columns))
    groups = len(reading.plan.groups)
    # What is of no group is shown with the others, and is nobody's.
    named = [row for row in found.rows if None not in row[:groups]] or found.rows
    values = [plain(row[place], found.columns[place]) for row in named for place in places if row[place] is not None]
    return [value.removeprefix("-") for value in values] if reading.absolute else values


def _stands_alone(nth: int, found: Result) -> bool:
    """Whether there is one row at a place, and none before it is equal to another."""
    return len(found.rows) == nth == len({row[-1] for row in found.rows})


def _verdict(reading: QuestionReading, found: Result) -> str:
    """Yes or no; nothing where there is no number to tell by."""
    number = found.rows[0][0] if found.rows else None
    if not isinstance(number, Decimal):
        return ""
    return "yes" if (number > 0 if reading.verdict == ">" else number < 0) else "no"


def _is_verdict(reading: QuestionReading, found: Result) -> bool:
    """Whether there is an answer although no row fits: there is none such."""
    return bool(reading.verdict) and isinstance(reading.plan.measures[0], Aggregate) and bool(found.rows)


def _headline(reading: QuestionReading, found: Result, how: str) -> str:
    """`how` is said of the measures."""
    if reading.verdict:
        return f"{_verdict(reading, found).capitalize()}. {_headline(replace(reading, verdict=''), found, how)}"
    plan, columns = reading.plan, found.columns
    rows = found.rows[reading.nth - 1 :] if reading.nth else found.rows[:HEADLINE_VALUES]
    more = ", …" if (not reading.nth and len(found.rows) > len(rows)) or found.more else ""
    if reading.counted:
        return f"Number of {columns[0].title}: {len(found.rows):,}"
    if reading.asked:
        names = ", ".join(shown(row[place], columns[place]) for row in rows for place in reading.asked)
        last = columns[-1]
        title = measure(plan.measures[0]) + how if plan.measures else last.title
        amount = f" ({title}: {shown(rows[0][-1], last)})" if len(rows) == 1 else f" (by {title})"
        return f"{names}{more}{amount}"
    if not plan.measures:
        lines = (", ".join(map(shown, row, columns)) for row in rows)
        listed = dict.fromkeys(lines)
        return f"{', '.join(column.title for column in columns)}: {'; '.join(listed)}{more}"
    title = " and ".join(map(measure, plan.measures)) + how
    title = title[0].upper() + title[1:]
    if not plan.groups:
        values = ", ".join(shown(cell, column) for cell, column in zip(found.rows[0], columns, strict=True))
        return f"{title}: {_signed(reading, found, values)}"
    by = " and ".join(column.title for column in columns[: len(plan.groups)])
    first = "; ".join(f"{', '.join(map(shown, row[:-1], columns))} {shown(row[-1], columns[-1])}" for row in rows[:3])
    return f"{title} by {by}: {first}{', …' if len(found.rows) > 3 else ''}"


def _signed(reading: QuestionReading, found: Result, values: str) -> str:
    """A difference without its sign, and which of the two is larger."""
    [one] = reading.plan.measures[:1]
    number = found.rows[0][0]
    if not reading.absolute or not isinstance(one, Compared) or not isinstance(number, Decimal):
        return values
    side = one.left if number > 0 else one.right
    larger = f" (larger: {side.where.right})" if number and isinstance(side.where, Criterion) else ""
    return f"{values.removeprefix('-')}{larger}"


def asked_back(back: AskedBack, tables: Tables, files: Collection[str] = ()) -> AnswerPart:
    """What was not understood, and questions that would be, of a file that was named, too."""
    said = f"{escape(back.reason)}\n\n"
    plans = [one.plan for one in back.readings]
    questions = (
        _naming(one, tables) if back.several or tables[one.table].path in files else question(one) for one in plans
    )
    readings = list(dict.fromkeys(filter(None, questions)))
    if readings:
        said += "Ask for one of these:\n\n" + "".join(f"- {code(one)}\n" for one in readings) + "\n"
    return without_result("asked_back", said)


def _naming(plan: Plan, tables: Tables) -> str:
    """The question with the file that it is asked of."""
    asked, path = question(plan), quoted(tables[plan.table].path)
    return f"{asked.removesuffix('?')} in {path}?" if asked and path else asked


FOLDER: Final = "results/"
NAME_BYTES: Final = 100
_CHART: Final = ".png"
_RESERVED: Final = re.compile(r'[<>:"/\\|?*]+')
"""Of file systems that a file may be downloaded to."""


@dataclass(frozen=True, slots=True)
class LeftFiles:
    """The paths of a table and its chart; or why there is no chart, in a sentence."""

    table: str
    chart: str | None = None
    without: str = ""


async def leave_result(turn: RunContext, result: Result, question: str, chart: ChartWish | None) -> str:
    """Leave what a question came to, unless it is a single row and no chart was asked for; Markdown that says where the
    chart is, or why there is none."""
    if chart is None and len(result.rows) <= 1:
        return ""
    title = question[:1].upper() + question[1:]
    try:
        left = await leave_table(turn, result, title, chart is not None, chart.kind if chart else None)
    except ResultTooLong as error:
        return f"{error} Ask for fewer rows.\n\n"
    return f"Chart: {code(left.chart)}\n\n" if left.chart else f"{left.without}\n\n" if left.without else ""


async def leave_table(
    turn: RunContext, result: Result, title: str, chart: bool = False, kind: ChartKind | None = None
) -> LeftFiles:
    """Write the result as a typed output `table` named after `title`, the question, and with `chart` a picture of it
    beside it. What other files have is left as it is; a run that is resumed writes the same files again. Raises
    `ResultTooLong`."""
    files, without = exported(result, title), ""
    if chart:
        try:
            files[_CHART] = await turn.workspace.tables.chart(result, title, kind)
        except (ChartError, WorkFailure) as error:
            without = str(error)
    there = {entry.path: entry.sha256 for entry in await turn.workspace.list()}
    stem = _free(title, files, there)
    # An id of the content, so that a run that is resumed names the same output.
    mark = hashlib.sha256(b"".join([stem.encode(), *files.values()])).hexdigest()[:16]
    for ending, data in files.items():
        type_ = "chart" if ending == _CHART else "table"
        await turn.write(stem + ending, data, output=(f"{type_}_{mark}", type_))
    return LeftFiles(stem + CSV, stem + _CHART if _CHART in files else None, without)


def _free(title: str, files: Mapping[str, bytes], there: Mapping[str, str]) -> str:
    """The path without ending: where each file is new, or is the same as the one that is there."""
    hashes = {ending: hashlib.sha256(data).hexdigest() for ending, data in files.items()}
    stem = FOLDER + _name(title)
    paths = itertools.chain([stem], (f"{stem} {number}" for number in itertools.count(2)))
    return next(
        path for path in paths if all(there.get(path + ending, sha256) == sha256 for ending, sha256 in hashes.items())
    )


def _name(title: str) -> str:
    words = " ".join(_RESERVED.sub(" ", title).split())
    name = safe_name(words).encode()[:NAME_BYTES].decode("utf-8", "ignore")
    return name.strip(" .") or "table"
