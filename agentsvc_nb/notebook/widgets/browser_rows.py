"""The rows of the file browser: an entry of a folder as the page shows it, all of it text."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.notebook.display.file_table import kind_of
from agentsvc_nb.notebook.display.render import moment, size
from agentsvc_nb.notebook.files.folders import FolderEntry
from agentsvc_nb.wire.files import FileFacts, SearchResult, WorkspaceFile
from agentsvc_nb.wire.text import label

ROWS: Final = 200
"""The most rows in the page: some thousands would make it slow."""
NO_CHAT: Final = "This notebook has no chat yet, so no files. Ask something, then press Refresh."
EMPTY: Final = "No files yet. What an answer writes is listed here, and files can be dropped here."
_TABLES: Final = ("csv", "tab-separated", "spreadsheet", "excel", "parquet")
_CODE: Final = ("json", "xml", "javascript", "python", "yaml", "x-sh", "html", "css", "sql")


def row(entry: FolderEntry) -> list[str]:
    """What the page shows of an entry: icon, name, kind, size, time of the last change, and the whole path."""
    facts = [size(entry.size_bytes), moment(entry.updated_at)]
    if (file := entry.file) is None:
        count = f"{entry.count:,} file{'s' * (entry.count != 1)}"
        return ["folder", label(entry.name[:-1]), count, *facts, label(entry.path)]
    named = f" ({label(file.name, 80)})" if file.name else ""
    return [_icon(file), label(entry.name) + named, label(kind_of(file), 40), *facts, label(entry.path)]


def _icon(file: FileFacts) -> str:
    family, _, kind = file.media_type.partition("/")
    if family == "image":
        return "picture"
    if family in ("audio", "video"):
        return "media"
    if any(word in kind for word in _TABLES):
        return "table"
    if any(word in kind for word in _CODE):
        return "code"
    return "text" if family == "text" or "pdf" in kind or "document" in kind else "file"


def counted(start: int, shown: int, whole: int, files: str) -> str:
    """The line below the rows; `files` says what the chat has in all, if that is of interest."""
    if whole > shown:
        return f"{start + 1:,} to {start + shown:,} of {whole:,} rows; type a part of a name to see fewer."
    if not files:
        return f"{whole} file{'s' * (whole != 1)} found."
    return f"{whole:,} row{'s' * (whole != 1)}; {files}."


def found_entry(result: SearchResult) -> FolderEntry:
    """A file that was found by its contents, under its whole path."""
    file = WorkspaceFile.model_validate(result.model_dump(exclude={"object", "match", "snippets"}))
    return FolderEntry(file.path, file.path, file)
