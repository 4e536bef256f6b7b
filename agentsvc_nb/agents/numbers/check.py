"""Find the source of each number in an answer: an equal value, with fitting words nearby. This calls no model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentsvc_nb.agents.numbers.calculating import compute_from_numbers, compute_from_rows
from agentsvc_nb.agents.numbers.context import LocatedNumber, locate_numbers
from agentsvc_nb.agents.numbers.reading import TEXT_CHARS
from agentsvc_nb.agents.numbers.tables import TABLES_MAX, IndexedTable, Names, SourceTable
from agentsvc_nb.agents.numbers.texts import Passages, Quote
from agentsvc_nb.agents.numbers.tracing import (
    PossibleColumn,
    Source,
    possible_columns,
    trace_to_cell,
    trace_to_column,
    trace_to_count,
)
from agentsvc_nb.agents.numbers.words import EARLIER, stems
from agentsvc_nb.wire.runs import AnswerNumber

_SENTENCES: Final = 5
"""A calculation of a number uses only numbers that are at most this many sentences away."""
_DERIVED_MAX: Final = 100
"""The check tries calculations for at most this many of the numbers without a source."""


def check(answer: str, question: str, tables: Sequence[SourceTable], quotes: Sequence[Quote]) -> list[AnswerNumber]:
    """Return the numbers of an answer with their sources.

    Args:
        answer: the Markdown text. Only its first 200,000 characters and 1,000 numbers are read.
        question: the user's messages.
        tables: the tables in the tools' results, latest last, including tables that a later result replaced.
        quotes: the other texts that the agent read.
    """
    answer, question = answer[:TEXT_CHARS], question[:TEXT_CHARS]
    every = [IndexedTable(table, order) for order, table in enumerate(tables[-TABLES_MAX:])]
    indexed = [table for table in every if not table.table.replaced]
    names = Names(every, stems(answer) | stems(question))
    found = locate_numbers(answer, question, names)
    passages = Passages(question, quotes)
    sources: dict[int, Source] = {}
    choices = [possible_columns(place, every if place.near & EARLIER else indexed) for place in found]
    for index, place in enumerate(found):
        if source := _find_source(place, choices[index], passages, indexed):
            sources[index] = source
    missing = [index for index in range(len(found)) if index not in sources][:_DERIVED_MAX]
    for position, source in compute_from_rows([found[index] for index in missing], indexed).items():
        sources[missing[position]] = source
    for _ in range(2):  # the first pass may find sources that the second pass needs
        for index in [index for index in missing if index not in sources]:
            place = found[index]
            near = [
                (found[other], source)
                for other, source in sources.items()
                if abs(found[other].sentence - place.sentence) <= _SENTENCES
            ]
            if source := compute_from_numbers(place, near):
                sources[index] = source
    return [
        _to_answer_number(place, sources.get(index))
        for index, place in enumerate(found)
        if index in sources or not _no_claim(place)
    ]


def _find_source(
    place: LocatedNumber, choices: Sequence[PossibleColumn], passages: Passages, tables: Sequence[IndexedTable]
) -> Source | None:
    cell = trace_to_cell(place, choices)
    if cell and cell.strong:
        return cell
    return (
        passages.find_quote(place)
        or cell
        or trace_to_column(place, choices)
        or trace_to_count(place, tables)
        or (Source("given", "From your message") if passages.is_given(place) else None)
    )


def _no_claim(place: LocatedNumber) -> bool:
    """Return True for a number that is probably no statement about data: a number word, a single digit, a year, or a
    part of a term such as `30-day`. Such numbers are listed only if they have a source.
    """
    number = place.number
    small = not number.kind and number.step == 1 and number.value < 10
    return number.adjectival or small or (number.is_year and place.cell is None)


def _to_answer_number(place: LocatedNumber, source: Source | None) -> AnswerNumber:
    number = place.number
    listed = AnswerNumber(start=number.start, end=number.end, text=number.text, status="not_found")
    if source is None:
        return listed
    strength = ("row_and_column" if source.strong else "row") if source.status == "traced" else None
    row = source.table.key(source.row) if source.table and source.row is not None else None
    return listed.model_copy(
        update={
            "status": source.status,
            "strength": strength,
            "source": source.text[:1000],
            "call_id": source.call_id,
            "row": row,
            "column": source.column.name if source.column else None,
            "path": source.path,
            "line": source.line,
        }
    )
