"""Search the files of the notebook's chat, with the matches marked; preview the beginning of a file."""

from __future__ import annotations

from typing import Any

from agentsvc_nb.client.models import columns, frame
from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.notebook.display.results import Cell, Preview, ResultTable, Row, code, grid
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.storing import chat_of, listed, missing
from agentsvc_nb.notebook.previews.bundle import preview_bundle
from agentsvc_nb.notebook.previews.kinds import HEAD_BYTES
from agentsvc_nb.notebook.state.session import Session, errors_as_cells
from agentsvc_nb.wire.files import FileSearch, SearchResult, SnippetPart, WorkspaceFile
from agentsvc_nb.wire.text import escape, label

PART_CHARS = 400


def search(session: Session, words: str, *, chat: str | None = None) -> ResultTable:
    """Search the chat's files by name and contents (docs/api/files.md "Search"), best match first.

    The DataFrame has the columns of a listed file, then `match`, `snippets`, and `passage`: the text of the snippets.
    Raises `AskError` when there are no words, the notebook has no chat yet, or the service fails.
    """
    where = chat or chat_of(session)
    found = searched(session, words, where)
    rows = [_facts(result) for result in found.results]
    kinds = columns(SearchResult) | {"passage": "string"}
    return ResultTable(search_bundle(found, words), lambda: frame(rows, kinds, chat=where, query=words))


def searched(session: Session, words: str, chat: str) -> FileSearch:
    """Search the files of a chat. Raises `AskError` when there are no words, or the service fails."""
    if not words.strip():
        raise AskError("Name the words to look for.", 'For example: %search "return on ad spend" -draft')
    with errors_as_cells(session):
        return session.client().files.search(words, chat=chat)


def search_bundle(found: FileSearch, words: str) -> dict[str, str]:
    """The results of a search as a table, with the matched words marked in their passages."""
    count = len(found.results)
    note = (
        f"{count} file{'s' * (count != 1)}"
        if count
        else "Nothing found; new files are found by their words a minute later."
    )
    return grid(f"Search: {label(words)}", ("file", "size", "passages"), [*map(_row, found.results)], [note])


def _row(result: SearchResult) -> Row:
    path = code(result.path)
    named = Cell(f"{path.text} ({label(result.name)})", f"{path.html} {escape(result.name)}") if result.name else path
    passages = Cell(
        label(" … ".join(_text(parts) for parts in result.snippets), PART_CHARS) or "(by its name)",
        "".join(f"<div>{_html(parts)}</div>" for parts in result.snippets),
    )
    return named, size(result.size_bytes), passages


def _text(parts: list[SnippetPart]) -> str:
    return "".join(f"*{part.text}*" if part.match else part.text for part in parts)


def _html(parts: list[SnippetPart]) -> str:
    return "".join(f"<mark>{_spaced(part.text)}</mark>" if part.match else _spaced(part.text) for part in parts)


def _spaced(text: str) -> str:
    """Escape a part of a snippet, keeping a blank at each end: `escape` strips them, but here they separate words."""
    edge = " " if text[:1].isspace() else "", " " if text[-1:].isspace() else ""
    return f"{edge[0]}{escape(text, PART_CHARS)}{edge[1] if text.strip() else ''}"


def _facts(result: SearchResult) -> dict[str, Any]:
    facts = result.model_dump(exclude={"object"})
    return facts | {"passage": " … ".join("".join(part.text for part in parts) for parts in result.snippets)}


def files_preview(session: Session, path: str | WorkspaceFile) -> Preview:
    """Return a preview of the beginning of a file, by the type that its bytes show (`previews`).

    Args:
        path: a path in the notebook's chat, or a listed file, which saves listing the chat again.

    Raises:
        AskError: there is no such file, or it cannot be downloaded.
    """
    file = path if isinstance(path, WorkspaceFile) else _found(session, path)
    client, chat = session.client(), chat_of(session)
    with errors_as_cells(session):
        head = client.files.head(file, HEAD_BYTES, chat=chat)
        return Preview(preview_bundle(file, head, lambda to: client.files.download(file, chat=chat, to=to)))


def _found(session: Session, path: str) -> WorkspaceFile:
    files = listed(session)
    file = next((file for file in files if file.path == path), None)
    if file is None:
        raise missing(path, files)
    return file
