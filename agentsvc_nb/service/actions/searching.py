"""Search in the files of a chat, by name and by words (spec.md "GET /files/search"; contract §4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from agentsvc_nb.service.actions import chats
from agentsvc_nb.service.ports.storage import Index, Tx
from agentsvc_nb.service.records import files
from agentsvc_nb.service.records.files import FileRecord
from agentsvc_nb.service.rules import search as grammar
from agentsvc_nb.wire.files import FileSearch, SearchResult, SnippetPart
from agentsvc_nb.wire.limits import SEARCH_MAX_RESULTS, SNIPPETS_PER_MATCH


def search(tx: Tx, index: Index, account: str, chat: str, q: str) -> FileSearch:
    """Name matches first, then contents by rank; one per typed output; at most 50 (spec.md "GET /files/search")."""
    chats.of_account(tx, chat, account)
    query = grammar.parse(q)
    if query is None:
        return FileSearch(chat=chat, results=[])
    shown = islice(_one_per_output(find(tx, index, chat, query)), SEARCH_MAX_RESULTS)
    return FileSearch(chat=chat, results=[_result(tx, index, hit, query) for hit in shown])


@dataclass(frozen=True, slots=True)
class Hit:
    """A file that matched, `by` its name or its content."""

    file: FileRecord
    by: str


def find(tx: Tx, index: Index, chat: str, query: grammar.Query) -> Iterator[Hit]:
    """The files of the chat that match, best first; lazily, for there may be very many."""
    named = set[str]()
    for path in index.by_name(tx, chat, query):
        named.add(path)
        yield Hit(_file(tx, chat, path), "name")
    for path in index.by_words(tx, chat, query):
        if path not in named:
            yield Hit(_file(tx, chat, path), "content")


def _file(tx: Tx, chat: str, path: str) -> FileRecord:
    tx.check_time()  # a search may pass over very many files of one output
    record = files.get(tx, chat, path)
    assert record is not None  # the index is written with the files, in one transaction
    return record


def _one_per_output(hits: Iterable[Hit]) -> Iterator[Hit]:
    """A typed output answers once, as the file within it that matched best."""
    seen: set[str] = set()
    for hit in hits:
        output = hit.file.output_id or f"path:{hit.file.path}"
        if output not in seen:
            seen.add(output)
            yield hit


def _result(tx: Tx, index: Index, hit: Hit, query: grammar.Query) -> SearchResult:
    passages: list[list[tuple[str, bool]]] = []
    if hit.by == "content":
        text = index.text(tx, hit.file.chat, hit.file.path)
        passages = grammar.snippets(query, text, SNIPPETS_PER_MATCH, tx.check_time)
    snippets = [[SnippetPart(text=text, match=match) for text, match in passage] for passage in passages]
    return SearchResult(**hit.file.facts(), match=hit.by, snippets=snippets)
