"""An outline of files, where a summary is asked for: headings with their first sentences, columns of tables with what
they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from agentsvc_nb.agents.offline.basis import AnswerPart, without_result
from agentsvc_nb.agents.offline.passages.corpus import Corpus
from agentsvc_nb.agents.offline.passages.splitting import Passage, sentences
from agentsvc_nb.agents.offline.requests import SWITCH
from agentsvc_nb.agents.offline.writing import code
from agentsvc_nb.formats.plans.profiles import ColumnProfile, TableProfile
from agentsvc_nb.formats.safe_text import escape
from agentsvc_nb.tools.port import Workspace, WorkspaceEntry

FILES_MAX: Final = 10
LINES_MAX: Final = 30
"""Lines of one file's outline when it is the only one, shared by several files; each has `LINES_LEAST` at least."""
LINES_LEAST: Final = 4
_SENTENCE_CHARS: Final = 240
_VALUES_SHOWN: Final = 4


async def outline(entries: Sequence[WorkspaceEntry], workspace: Workspace, corpus: Corpus) -> AnswerPart:
    """The outlines of the files, called that."""
    shown = entries[:FILES_MAX]
    room = max(LINES_LEAST, LINES_MAX // max(1, len(shown)))
    parts = [await _of_file(entry, workspace, corpus, room) for entry in shown]
    more = f"And {len(entries) - FILES_MAX} more files.\n\n" if len(entries) > FILES_MAX else ""
    said = f"This is an outline and no summary, which needs a language model (in a terminal: `{SWITCH}`).\n\n"
    return without_result("outline", f"{said}{''.join(parts)}{more}")


async def _of_file(entry: WorkspaceEntry, workspace: Workspace, corpus: Corpus, room: int) -> str:
    files = await workspace.tables.profiles([entry.path])
    tables = [table for file in files for table in file.tables]
    lines = [line for table in tables for line in _of_table(table)]
    if not lines or not entry.path.lower().endswith((".csv", ".tsv", ".xlsx", ".xls", ".ods", ".parquet", ".jsonl")):
        lines = [*_of_text(await corpus.opening(entry)), *lines]
    left = len(lines) - room
    more = f"- and {left} more lines\n" if left > 0 else ""
    body = "".join(lines[:room]) or "- (no text to read)\n"
    return f"Outline of {code(entry.path)}:\n\n{body}{more}\n"


def _of_text(passages: Sequence[Passage]) -> Iterator[str]:
    """The headings, and below each the first sentence of its text; without headings, that of each passage."""
    above: tuple[str, ...] | None = None
    for passage in passages:
        if passage.kind == "row" and above == passage.headings:
            continue
        new = [title for title in passage.headings if above is None or title not in above]
        first = passage.headings != above or not passage.headings
        above = passage.headings
        depth = len(passage.headings) - len(new)
        for level, title in enumerate(new, depth):
            yield f"{'  ' * level}- {escape(title)}\n"
        if first:
            yield f"{'  ' * len(passage.headings)}- {escape(_first(passage.text))}\n"


def _first(text: str) -> str:
    found = next(iter(sentences(text)), text)
    return found if len(found) <= _SENTENCE_CHARS else f"{found[:_SENTENCE_CHARS].rsplit(' ', 1)[0]} …"


def _of_table(table: TableProfile) -> Iterator[str]:
    name = f"{escape(table.sheet)}: " if table.sheet else ""
    yield f"- {name}{table.rows} rows, {len(table.columns)} columns\n"
    for column in table.columns:
        yield f"  - {code(column.name)} ({_of_column(column)})\n"


def _of_column(column: ColumnProfile) -> str:
    empty = f", {column.empty} empty" if column.empty else ""
    if column.kind != "text":
        bounds = f": {column.smallest}{column.unit} to {column.largest}{column.unit}" if column.smallest else ""
        return escape(f"{column.kind}{bounds}{empty}")
    few = column.all_values and len(column.values) <= _VALUES_SHOWN
    values = f": {', '.join(column.values)}" if few else f", {column.distinct} different values"
    return escape(f"text{values}{empty}")
