"""Answer questions about tables: choose the table, find and run the calculation, or run the user's SQL."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from agentsvc_nb import clock
from agentsvc_nb.agents.offline import wording
from agentsvc_nb.agents.offline.calculation import Calculation
from agentsvc_nb.agents.offline.lexicon import tokens_of
from agentsvc_nb.agents.offline.parser import QuestionParser, Refusal
from agentsvc_nb.agents.offline.profile import ProfiledTable
from agentsvc_nb.agents.offline.soundness import Objection, find_objection
from agentsvc_nb.agents.offline.sql import SqlWriter, compared_conditions, measured_columns
from agentsvc_nb.agents.offline.writing import (
    HOW_TO_SWITCH,
    AnswerPart,
    block,
    code,
    language_note,
    result,
    without_result,
)
from agentsvc_nb.documents.engine.messages import FileTables, QueryAnswer
from agentsvc_nb.documents.safe_text import escape
from agentsvc_nb.documents.tables.results import Result, ResultColumn, markdown, plain, shown
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.workspace_port import WorkspaceTables
from agentsvc_nb.wire.runs import Basis
from agentsvc_nb.wire.text import label
from agentsvc_nb.wire.text import plain as plain_text

SUGGESTIONS: Final = 3
SEVERAL_SHOWN: Final = 5
_SQL: Final = re.compile(r"\s*(?:```(?:sql)?\s*)?((?:select|with|from)\b.*?)(?:```)?\s*", re.IGNORECASE | re.DOTALL)
_SQL_CLAUSE: Final = re.compile(r"^select\s+[\d'(*\"]|\bselect\b.+\bfrom\s+[\w\"'(]", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class TableReading:
    """The result of parsing a question for one table: `found` is a calculation, or a refusal with its reason."""

    parser: QuestionParser
    found: Calculation | Refusal

    @property
    def path(self) -> str:
        return self.parser.table.profile.path


class TableQuestions:
    """Answers questions about the tables in a chat's files, with one parser for each table."""

    def __init__(self, tables: WorkspaceTables, files: Sequence[FileTables], attached: Collection[str]) -> None:
        self._tables = tables
        self._attached = attached
        self.files = files
        self.parsers = [
            QuestionParser(ProfiledTable(profile)) for file in files for profile in file.tables if profile.columns
        ]

    async def answer(self, question: str, named: Collection[str]) -> AnswerPart | TableReading | None:
        """Return the answer. Return None if the files have no tables.

        If no table can answer, return the refusal of the table whose headers and values match the question best.

        Args:
            named: The paths of the files that the question names. If there are any, no other files are used.
        """
        parsers = [one for one in self.parsers if not named or one.table.profile.path in named]
        readings = [TableReading(parser, parser.parse(question)) for parser in parsers]
        calculations = [reading for reading in readings if isinstance(reading.found, Calculation)]
        calculations = [reading for reading in calculations if reading.path in self._attached] or calculations
        if len(calculations) > 1:
            return _ask_which_table(question, calculations)
        if calculations:
            return await self.compute(calculations[0])
        refused = [(reading, reading.found) for reading in readings if isinstance(reading.found, Refusal)]
        if not refused:
            return None
        return max(refused, key=lambda one: (one[1].known - len(one[1].unused), one[0].path in self._attached))[0]

    async def compute(self, reading: TableReading) -> AnswerPart:
        """Run the calculation, and return an answer that contains its result and its SQL.

        The answer also says how the question was understood and how many rows were used. If the result would probably
        be wrong, the answer says why instead.
        """
        calculation, table = reading.found, reading.parser.table
        assert isinstance(calculation, Calculation)
        objection = await self._objection(reading, calculation)
        if objection and not objection.shows_number:
            questions = filter(None, map(reading.parser.question, objection.offers))
            said = f"No answer from {code(reading.path)}: {objection.sentence}\n\n"
            return without_result("asked_back", said + offer(reading.path, list(questions)))
        writer = SqlWriter(table)
        columns = wording.result_columns(calculation, table)
        sql = writer.select(calculation, [column.title for column in columns])
        many = bool(calculation.groups or calculation.select)
        found = to_result(await self._tables.query(sql, [reading.path], save=many), columns)
        (counts,) = (await self._tables.query(writer.account(calculation), [reading.path])).rows
        split = 2 + len(measured_columns(calculation))
        numbers = [int(count) for count in counts]
        account = wording.Account(numbers[0], numbers[1], tuple(numbers[2:split]), tuple(numbers[split:]))
        assert split + len(compared_conditions(calculation)) == len(numbers)
        words = reading.parser.question(calculation)
        source = code(table.profile.path) + (f", sheet {code(table.profile.sheet)}" if table.profile.sheet else "")
        details = [f"Read as {code(words)} in {source}." if words else f"From {source}."]
        # Viewers may collapse the first line and the SQL, but they always show the second line.
        used = [wording.account_sentences(calculation, table, account), wording.reading_notes(calculation, table)]
        rest = f"{' '.join(details)}\n{' '.join(filter(None, used))}\n\n{block(sql)}"
        if all(value is None for row in found.rows for value in row):
            return without_result("nothing", f"No row has a value for this question. {rest}")
        if calculation.single and len(found.rows) > 1:
            values = ", ".join(escape(shown(row[0], columns[0])) for row in found.rows[:SEVERAL_SHOWN])
            more = ", ..." if len(found.rows) > SEVERAL_SHOWN else ""
            said = (
                f"{len(found.rows):,} different values match: {values}{more}."
                " Ask for one row, a total or an average.\n\n"
            )
            return without_result("asked_back", said + rest)
        written = wording.with_durations(found)
        shown_table = f"{markdown(written)}\n" if len(found.rows) > 1 or len(columns) > 2 else ""
        if unfinished := wording.open_period_sentence(calculation, table, found, clock.today()):
            shown_table += f"{unfinished}\n\n"
        line = wording.headline(calculation, table, written, account)
        doubts = [wording.doubt_sentence(calculation, table), wording.unread_sentence(calculation, table)]
        offered = ""
        if objection:
            doubts.append(objection.sentence)
            questions = filter(None, map(reading.parser.question, objection.offers))
            offered = offer(reading.path, list(questions))
        if open_ := " ".join(filter(None, doubts)):
            return without_result("asked_back", f"{open_}\n\n{escape(label(line))}\n\n{shown_table}{rest}{offered}")
        basis: Basis = "looked_up" if calculation.select else "computed"
        left = found if len(found.rows) > 1 else None
        part = result(basis, line, wording.values_of(calculation, written), shown_table + rest, left)
        warning = f"{escape(table.profile.warning)}\n\n" if table.profile.warning else ""
        return replace(part, text=warning + part.text, limited=bool(calculation.conditions))

    async def _agree(self, reading: TableReading, calculations: Sequence[Calculation]) -> bool:
        """Return True if all calculations have the same result, and compute only counts of rows or ids."""
        table, results = reading.parser.table, []
        for one in calculations:
            counted = [measure for measure in one.measures if measure.agg == "count" or table.is_repeated_id(measure)]
            if not counted or len(counted) < len(one.measures) or one.rank:
                return False
            titles = [column.title for column in wording.result_columns(one, table)]
            results.append(await self._tables.query(SqlWriter(table).select(one, titles), [reading.path]))
        return all(one.rows == results[0].rows and not one.more for one in results)

    async def _objection(self, reading: TableReading, calculation: Calculation) -> Objection | None:
        async def query(sql: str) -> Sequence[Sequence[object]]:
            return (await self._tables.query(sql, [reading.path])).rows

        return await find_objection(calculation, reading.parser.table, query)

    async def suggestions(self, reading: TableReading, question: str) -> list[str]:
        """Return questions about the table that the agent can answer. Each is tested: it has a calculation whose SQL
        runs.
        """
        working: list[str] = []
        table = reading.parser.table
        for words, calculation in reading.parser.suggest(question):
            titles = [column.title for column in wording.result_columns(calculation, table)]
            if wording.unread_sentence(calculation, table) or wording.doubt_sentence(calculation, table):
                continue
            try:
                answer = await self._tables.query(SqlWriter(table).select(calculation, titles), [reading.path])
                if answer.rows and not await self._objection(reading, calculation):
                    working.append(words)
            except WorkFailure:
                continue
            if len(working) == SUGGESTIONS:
                break
        return working

    async def refuse(self, reading: TableReading, question: str) -> AnswerPart:
        """Return an answer to a refused question: the words that were not understood, or the equally likely readings.

        The answer offers other questions. If all readings are counts with the same result, return this result instead.
        """
        refusal, parser = reading.found, reading.parser
        assert isinstance(refusal, Refusal)
        if refusal.decided and await self._agree(reading, refusal.readings):
            return await self.compute(TableReading(parser, refusal.readings[0]))
        readings = [words for calculation in refusal.readings if (words := parser.question(calculation))]
        path = code(reading.path)
        if len(readings) > 1:
            return without_result("asked_back", f"The question has several meanings in {path}:\n\n{_to_list(readings)}")
        if refusal.unused:
            words = ", ".join(map(code, refusal.unused))
            said = f"No answer from {path}: I do not understand {words}."
        else:
            reason = _to_markdown(refusal.reason) or "I know these words, but not this kind of question."
            said = f"No answer from {path}: {reason}"
        offered = await self.suggestions(reading, question)
        note = language_note(refusal.unused)
        return without_result("asked_back", f"{said}\n\n{note}{offer(reading.path, offered)}{HOW_TO_SWITCH}")

    async def run_sql(self, sql: str) -> AnswerPart:
        """Run the user's SQL. Return its result, or the reason why it did not run."""
        try:
            answer = await self._tables.query(sql, save=True)
        except WorkFailure as failure:
            names = [parser.table.name for parser in self.parsers[:20]]
            described = "The tables are" in failure.message or all(f"{name} has " in failure.message for name in names)
            known = "" if described else f"The tables are {', '.join(map(code, names))}.\n\n"
            return without_result("nothing", f"The SQL did not run: {_engine_message(failure.message)}{known}")
        columns = tuple(
            ResultColumn(title, _RESULT_KINDS.get(kind, "text"), decimals=_decimals(answer, place), quotient=True)
            if kind == "number"
            else ResultColumn(title, _RESULT_KINDS.get(kind, "text"))
            for place, (title, kind) in enumerate(zip(_number_repeated(answer.columns), answer.types, strict=True))
        )
        found = to_result(answer, columns)
        values = [plain(value, column) for row in found.rows for value, column in zip(row, columns, strict=True)]
        notes = f"How the tables were read: {escape(label(' '.join(answer.notes), 400))}\n\n" if answer.notes else ""
        if len(found.rows) == len(columns) == 1:
            line = f"{columns[0].title}: {shown(found.rows[0][0], columns[0])}"
            return result("computed", line, values, notes)
        line = f"{len(found.rows):,} row{'' if len(found.rows) == 1 else 's'}"
        return result("computed", line, values, f"{markdown(found)}\n{notes}", found if found.rows else None)


_RESULT_KINDS: Final[dict[str, Literal["number", "boolean"]]] = {
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
}


def _to_markdown(reason: str) -> str:
    """Return the reason of a refusal as Markdown, with the names between its backticks as code."""
    return "".join(
        code(part) if at % 2 else re.sub(r"\S(?:.*\S)?", lambda found: escape(found[0]), part)
        for at, part in enumerate(reason.split("`"))
    )


def _engine_message(message: str) -> str:
    """Return an error message of DuckDB as Markdown. The part that marks a position in the SQL becomes a code block."""
    parts = []
    for paragraph in re.split(r"\n{2,}", message.strip()):
        before, place, marked = f"\n{paragraph}".partition("\nLINE ")
        parts += [f"{escape(line)}\n\n" for line in before.splitlines() if line.strip()]
        if place:
            parts.append(block(plain_text(f"LINE {marked}"), ""))
    return "".join(parts)


def typed_sql(message: str) -> str | None:
    """Return the SQL if the message is an SQL query, else None.

    >>> typed_sql("select sum(cost) from ads"), typed_sql("Select the best ad for me")
    ('select sum(cost) from ads', None)
    """
    found = _SQL.fullmatch(message)
    return found[1].strip().rstrip(";") if found and _SQL_CLAUSE.search(found[1]) else None


def to_result(answer: QueryAnswer, columns: Sequence[ResultColumn]) -> Result:
    """Convert the rows that a query returned into a `Result` with exact values."""
    if answer.saved:
        lines = csv.reader(io.StringIO(answer.saved.decode()))
        next(lines)
        cells = [[cell or None for cell in line] for line in lines if line or len(columns) == 1]
        cells = [line or [None] for line in cells]
    else:
        cells = [list(row) for row in answer.rows]
    rows = tuple(
        tuple(wording.cell_value(cell, kind) for cell, kind in zip(line, answer.types, strict=True)) for line in cells
    )
    return Result(tuple(columns), rows)


def offer(path: str, questions: Sequence[str]) -> str:
    """Return a text that offers questions for the user to copy, or "" if there are none."""
    return f"I can answer, for example, about {code(path)}:\n\n{_to_list(questions)}" if questions else ""


def _to_list(questions: Sequence[str]) -> str:
    return "".join(f"- {code(question[:1].upper() + question[1:])}\n" for question in questions) + "\n"


def _ask_which_table(question: str, readings: Sequence[TableReading]) -> AnswerPart:
    asked = " ".join(tokens_of(question)) if "\n" in question else question.strip().rstrip("?.! ")
    names = [reading.parser.table.profile for reading in readings[:SEVERAL_SHOWN]]
    questions = [f"{asked} in {name.path}" + (f", sheet {name.sheet}" if name.sheet else "") for name in names]
    return without_result("asked_back", f"{len(readings)} tables can answer this. Which one?\n\n{_to_list(questions)}")


def _number_repeated(titles: Sequence[str]) -> list[str]:
    """Return the titles. If a title occurs several times, append numbers, so that all titles differ."""
    distinct: list[str] = []
    for title in titles:
        number, name = 1, title
        while name in distinct:
            number += 1
            name = f"{title} {number}"
        distinct.append(name)
    return distinct


def _decimals(answer: QueryAnswer, place: int) -> int:
    """Return the number of decimal places of a result column. It is 0 for floating-point numbers, because only exact
    decimals arrive as text.
    """
    cells = [cell for row in answer.rows if isinstance(cell := row[place], str)]
    return max((len(cell.partition(".")[2]) for cell in cells), default=0)
