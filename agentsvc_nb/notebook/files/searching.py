"""Search the files of the notebook's chat: each passage with its words marked."""

from __future__ import annotations

from typing import Any

from agentsvc_nb.client.results.frames import columns, frame
from agentsvc_nb.notebook.display.amounts import size
from agentsvc_nb.notebook.display.grid import Cell, Row, code, grid
from agentsvc_nb.notebook.display.results import Table
from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.files.listing import chat_of
from agentsvc_nb.notebook.memory.session import Session
from agentsvc_nb.notebook.memory.telling import telling
from agentsvc_nb.safe.text import escape, label
from agentsvc_nb.wire.files import FileSearch, SearchResult, SnippetPart

PART_CHARS = 400


def search(session: Session, words: str, *, chat: str | None = None) -> Table:
    """Search by name and contents (spec.md "GET /api/developers/v1/files/search"), best first. Raises `AskError`.

    The DataFrame has the columns of a listing's file, then `match`, `snippets` and `passage`: their text in one.
    """
    where = chat or chat_of(session)
    found = searched(session, words, where)
    rows = [_facts(result) for result in found.results]
    kinds = columns(SearchResult) | {"passage": "string"}
    return Table(search_bundle(found, words), lambda: frame(rows, kinds, chat=where, query=words))


def searched(session: Session, words: str, chat: str) -> FileSearch:
    """What the service finds in a chat. Raises `AskError`."""
    if not words.strip():
        raise AskError("Name the words to look for.", 'For example: %search "return on ad spend" -draft')
    with telling(session):
        return session.client().files.search(words, chat=chat)


def search_bundle(found: FileSearch, words: str) -> dict[str, str]:
    """What was found as a table, the words that matched marked in their passages."""
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
    """Escaped on one line; `escape` drops the blanks at the ends, which divide words here."""
    edge = " " if text[:1].isspace() else "", " " if text[-1:].isspace() else ""
    return f"{edge[0]}{escape(text, PART_CHARS)}{edge[1] if text.strip() else ''}"


def _facts(result: SearchResult) -> dict[str, Any]:
    facts = result.model_dump(exclude={"object"})
    return facts | {"passage": " … ".join("".join(part.text for part in parts) for parts in result.snippets)}
