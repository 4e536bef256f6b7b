"""Search in a chat's files by name and content; at start, the re-indexing of files that an older version indexed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from agentsvc_nb.formats import queries as grammar
from agentsvc_nb.formats.indexing import indexed_text
from agentsvc_nb.formats.queries import is_scratch
from agentsvc_nb.service.ports import Index, Tx
from agentsvc_nb.service.records import chats as chat_records
from agentsvc_nb.service.records import files
from agentsvc_nb.service.records.files import FileRecord
from agentsvc_nb.service.usecases import chats
from agentsvc_nb.service.usecases.context import UseCaseContext
from agentsvc_nb.tools.support.stopping import ReadTooLong
from agentsvc_nb.wire.files import FileSearch, SearchResult, SnippetPart
from agentsvc_nb.wire.limits import QUERY_MAX_WORDS, SEARCH_MAX_RESULTS, SEARCH_SECONDS, SNIPPETS_PER_MATCH

Place = tuple[str, str]
"""The chat and path of a file."""

FIRST: Final[Place] = ("", "")
BATCH: Final = 200


async def index_older_files(context: UseCaseContext) -> None:
    """Index all files again if an older version indexed them. Takes minutes for 100,000 files."""
    place = None if await context.read(context.index.is_current) else FIRST
    while place is not None:
        place = await context.write(partial(_index_again, index=context.index, after=place), long=True)


def _index_again(tx: Tx, index: Index, after: Place) -> Place | None:
    """Index the next `BATCH` files after the place `after`; the place of the last one, or None when all are done."""
    found = files.every(tx, after, BATCH)
    for record in found:
        if not is_scratch(record.path):
            text = index.text(tx, record.chat, record.path)
            index.put(tx, record.chat, record.path, record.names, indexed_text(text))
    if len(found) == BATCH:
        return found[-1].chat, found[-1].path
    index.set_current(tx)
    return None


async def search(
    context: UseCaseContext, account: str, chat: str, q: str, seconds: float | None = SEARCH_SECONDS
) -> FileSearch:
    """Matches by name first, then by content, best first; one per typed output; at most 50 (docs/api/files.md
    "Search").

    Raises `ReadTooLong` after `seconds` of processor time, and what `chats.of_account` raises.
    """
    return await context.search(account, lambda tx: within(tx, context.index, account, chat, q), seconds)


def within(tx: Tx, index: Index, account: str, chat: str, q: str) -> FileSearch:
    """`search`, within a transaction."""
    chats.of_account(tx, chat, account)
    query = grammar.parse(q)
    if query is None:
        return FileSearch(chat=chat, results=[])
    shown = islice(_one_per_output(_find(tx, index, chat, query)), SEARCH_MAX_RESULTS)
    return FileSearch(chat=chat, results=[_result(tx, index, hit, query) for hit in shown])


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A file that matched; `by` is `name` or `content`."""

    file: FileRecord
    by: str


async def find(context: UseCaseContext, chat: str, query: grammar.Query, limit: int, seconds: float) -> list[SearchHit]:
    """The best `limit` matches in the chat, best first. Raises `ReadTooLong` after `seconds` of processor time."""
    account = await context.read_single(lambda tx: chat_records.owner(tx, chat))
    return await context.search(account, lambda tx: list(islice(_find(tx, context.index, chat, query), limit)), seconds)


def _find(tx: Tx, index: Index, chat: str, query: grammar.Query) -> Iterator[SearchHit]:
    """The files of the chat that match, best first. Lazy, because there may be very many.

    Raises `ReadTooLong` for a query of too many words: each is looked up apart.
    """
    if query.words > QUERY_MAX_WORDS:
        raise ReadTooLong
    named = set[str]()
    for path in index.by_name(tx, chat, query):
        named.add(path)
        yield SearchHit(_file(tx, chat, path), "name")
    for path in index.by_words(tx, chat, query):
        if path not in named:
            yield SearchHit(_file(tx, chat, path), "content")


def _file(tx: Tx, chat: str, path: str) -> FileRecord:
    tx.check_time()  # a search may pass over very many files of one output
    record = files.get(tx, chat, path)
    assert record is not None  # the index is written with the files, in one transaction
    return record


def _one_per_output(hits: Iterable[SearchHit]) -> Iterator[SearchHit]:
    """The hits, with only the best one of each typed output."""
    seen: set[str] = set()
    for hit in hits:
        output = hit.file.output_id or f"path:{hit.file.path}"
        if output not in seen:
            seen.add(output)
            yield hit


def _result(tx: Tx, index: Index, hit: SearchHit, query: grammar.Query) -> SearchResult:
    passages: list[list[tuple[str, bool]]] = []
    if hit.by == "content":
        text = index.text(tx, hit.file.chat, hit.file.path)
        passages = grammar.snippets(query, text, SNIPPETS_PER_MATCH, tx.check_time)
    snippets = [[SnippetPart(text=text, match=match) for text, match in passage] for passage in passages]
    return SearchResult(**hit.file.facts(), match=hit.by, snippets=snippets)
