"""Outline files: a document by its headings, and a table by its columns with types and ranges."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from agentsvc_nb.agents.offline.passages import split_passages
from agentsvc_nb.agents.offline.writing import AnswerPart, code, result, without_result
from agentsvc_nb.documents.engine.messages import FileTables
from agentsvc_nb.documents.safe_text import HEADING, escape, table
from agentsvc_nb.documents.tables.profiles import ColumnProfile, TableProfile
from agentsvc_nb.wire.text import label

HEADINGS_MAX: Final = 40
COLUMNS_MAX: Final = 60
EXAMPLES: Final = 3
CELL_CHARS: Final = 60
_REQUEST: Final = re.compile(
    r"(?:please |can you |could you )?(?:"
    r"(?:give me |show me |write |make )?(?:an? |the )?(?:outline|overview|summary|summarise|summarize|structure)\b"
    r"|describe (?:the |this |that )?(?:file|table|data|document|columns)"
    r"|what(?:'s| is| does) (?:in |is in )?(?:the |this |that )?(?:file|document|table|data)"
    r"(?: about| contain| say)?\W*$"
    r")",
    re.IGNORECASE,
)
_COLUMNS: Final = re.compile(
    r"(?P<many>how many columns)\b.*"
    r"|(?:(?:what|which) (?:are the )?columns|(?:list|show|name)(?: me)?(?: all)?(?: the)? columns)\b.*",
    re.IGNORECASE,
)


def asks_outline(question: str) -> bool:
    """Return True if a question asks for an outline or a summary. The offline agent answers both with an outline."""
    return _REQUEST.match(question.strip()) is not None


def answer_columns(question: str, profiles: Sequence[TableProfile]) -> AnswerPart | None:
    """If the question asks for the columns of a table or for their number, return the answer.

    Return None for any other question, or if there are several tables.
    """
    found = _COLUMNS.fullmatch(question.strip())
    if not found or len(profiles) != 1:
        return None
    names = [column.name for column in profiles[0].columns]
    listed = ", ".join(names)
    line = f"{len(names)} columns: {listed}"
    values = [str(len(names))] if found["many"] else names
    return result("looked_up", line, values, f"{_outline_table(profiles[0])}\n")


def outline_tables(file: FileTables) -> str:
    """Return an outline of the tables of a file: the number of rows, and the columns with types and ranges."""
    if not file.tables:
        return f"{code(file.path)} could not be read as a table: {escape(file.unreadable)}\n\n"
    return "".join(_outline_table(profile) + "\n" for profile in file.tables)


def outline_text(path: str, text: str) -> str:
    """Return an outline of a document: its headings, or the beginnings of its first paragraphs if it has no
    headings.
    """
    lines = [found for line in text.splitlines() if (found := HEADING.fullmatch(line.strip("\f ").strip()))]
    pages = text.count("\f")
    size = f"{pages:,} page{'' if pages == 1 else 's'}, " if pages else ""
    head = f"{code(path)}: {size}{len(text.split()):,} words\n\n"
    if lines:
        shown = (f"{'  ' * (len(found[1]) - 1)}- {escape(found[2])}\n" for found in lines[:HEADINGS_MAX])
        more = f"- ... and {len(lines) - HEADINGS_MAX:,} more headings\n" if len(lines) > HEADINGS_MAX else ""
        return f"{head}{''.join(shown)}{more}\n"
    first = [passage.text for passage in split_passages(path, text)][:5]
    return head + "".join(f"- {escape(label(part, 120))}\n" for part in first) + "\n"


def outline(parts: Sequence[str]) -> AnswerPart:
    return without_result("outline", "".join(parts))


def _outline_table(profile: TableProfile) -> str:
    sheet = f", sheet {code(profile.sheet)}" if profile.sheet else ""
    head = f"{code(profile.path)}{sheet}: {profile.rows:,} rows; in SQL {code(profile.name)}\n\n"
    rows = [(column.name, _kind(column), _range(column), _faults(column)) for column in profile.columns[:COLUMNS_MAX]]
    more = len(profile.columns) - COLUMNS_MAX
    made = table(["Column", "Type", "Values", "Empty"], rows)
    return head + made + (f"\nand {more:,} more columns\n" if more > 0 else "")


def _kind(column: ColumnProfile) -> str:
    return f"{column.kind} ({column.unit})" if column.unit else column.kind


def _range(column: ColumnProfile) -> str:
    if column.kind == "boolean":
        return "yes, no"
    if column.kind != "text":
        return f"{column.smallest} to {column.largest}" if column.smallest else ""
    examples = ", ".join(label(value, CELL_CHARS) for value in column.values[:EXAMPLES])
    more = ", ..." if column.distinct > EXAMPLES else ""
    return f"{column.distinct:,}: {examples}{more}"


def _faults(column: ColumnProfile) -> str:
    unread = f"; {column.unread:,} not read" if column.unread else ""
    return f"{column.empty:,}{unread}" if column.empty or unread else ""
