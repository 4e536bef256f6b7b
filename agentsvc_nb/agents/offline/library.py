"""The chat's files: which of them a question names, their list, and their outline where a summary is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from agentsvc_nb.agents.offline.passages.corpus import Corpus
from agentsvc_nb.agents.offline.passages.splitting import Passage, sentences
from agentsvc_nb.agents.offline.requests import SWITCH, outline_words
from agentsvc_nb.agents.offline.words import STOP, content_words, stems
from agentsvc_nb.agents.offline.writing import AnswerPart, code, without_result
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from agentsvc_nb.documents.queries import is_scratch, tokens
from agentsvc_nb.documents.safe_text import escape
from agentsvc_nb.tools.workspace_port import COMPUTED, Workspace, WorkspaceEntry


class Library:
    """The files of one chat, listed once."""

    def __init__(self, workspace: Workspace, entries: Sequence[WorkspaceEntry]) -> None:
        self.workspace = workspace
        # Its own results are no source: an answer would quote the one before it.
        usable = (entry for entry in entries if entry.output_type not in COMPUTED)
        self.entries = [entry for entry in usable if not is_scratch(entry.path)]

    def named(self, question: str) -> list[str]:
        """The files that the question names: `brief.md`, or `the brief`."""
        asked, folded = set(stems(question)), question.casefold()
        return [entry.path for entry in self.entries if _is_named(PurePosixPath(entry.path), asked, folded)]


def _is_named(path: PurePosixPath, asked: set[str], folded: str) -> bool:
    title = tokens(path.stem)
    return path.name.casefold() in folded or (
        bool(title) and len("".join(title)) > 2 and set(stems(path.stem)) <= asked
    )


def title_tokens(paths: Sequence[str]) -> set[str]:
    return {token for path in paths for token in (*tokens(path.rsplit("/", 1)[-1]), *tokens(path))} - STOP


FILES_SHOWN: Final = 50


def is_about_pictures(question: str, library: Library) -> bool:
    """Whether the question names files and all of them are pictures, of which only a model can say something."""
    kinds = {entry.path: entry.media_type for entry in library.entries}
    named = library.named(question)
    return bool(named) and all(kinds[path].startswith(("image/", "video/")) for path in named)


def to_outline(question: str, library: Library) -> list[WorkspaceEntry]:
    """The files to outline where the question asks for it, or names files and nothing else; none for a question about
    something in them."""
    named = library.named(question)
    said = outline_words(question)
    if said is None and not named:
        return []
    taken = {token for word in said or () for token in tokens(word)} | title_tokens(named)
    if any(not set(tokens(word)) <= taken for word in content_words(question)):
        return []
    return [entry for entry in library.entries if not named or entry.path in named]


def listing(library: Library) -> str:
    shown = library.entries[:FILES_SHOWN]
    lines = [f"- {code(entry.path)} ({_size(entry.size_bytes)})\n" for entry in shown]
    more = f"- and {len(library.entries) - FILES_SHOWN} more\n" if len(library.entries) > FILES_SHOWN else ""
    return f"{''.join(lines)}{more}\n"


def files_here(library: Library) -> str:
    return f"{count_of(library)} in this chat"


def count_of(library: Library) -> str:
    files = len(library.entries)
    return "1 file" if files == 1 else f"{files} files"


def _size(size: int) -> str:
    return f"{size} B" if size < 1000 else f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


FILES_MAX: Final = 10
LINES_MAX: Final = 30
"""Lines of one file's outline when it is the only one, shared by several files; each has `LINES_LEAST` at least."""
LINES_LEAST: Final = 4
_SENTENCE_CHARS: Final = 240
_VALUES_SHOWN: Final = 4


async def outline(entries: Sequence[WorkspaceEntry], workspace: Workspace, corpus: Corpus) -> AnswerPart:
    """The outlines of the files, below a line that says that they are no summary."""
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
