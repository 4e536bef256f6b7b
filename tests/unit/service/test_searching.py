"""Search as a whole, on a real database: names and contents, typed outputs, older data folders (docs/api/files.md)."""

from __future__ import annotations

import asyncio

import pytest

from agentsvc_nb.documents.indexing import index_text
from agentsvc_nb.documents.search_query import parse
from agentsvc_nb.service.chats import chat_records
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import Content, FileOrigin
from agentsvc_nb.service.files.files import INDEX_BATCH
from agentsvc_nb.service.ports import DatabaseEngine, Tx
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.tools.support.stopping import ReadTooLong
from agentsvc_nb.wire.files import FileSearch
from agentsvc_nb.wire.limits import QUERY_MAX_WORDS

ACCOUNT = "acct_1"


class Chat:
    """One chat with its files."""

    def __init__(self, database: DatabaseEngine, storage: Storage) -> None:
        self.database, self.storage, self.use_case = database, storage, storage.use_case
        self.id = self.database.write_now(lambda tx: chat_records.create(tx, ACCOUNT, None, None, 1).id)

    def put(self, texts: dict[str, str], output: str | None = None) -> None:
        author = FileOrigin("output", output_id=output, output_type="report") if output else FileOrigin("upload")

        def use(tx: Tx) -> None:
            for path, text in texts.items():
                content = Content(path, "text/plain", len(text), "0" * 64, index_text(text))
                files.write(tx, self.use_case.index, self.id, path, content, author, 1)

        self.database.write_now(use)

    def rename(self, path: str, name: str | None) -> None:
        asyncio.run(files.rename(self.use_case, ACCOUNT, self.id, path, name))

    def run(self, sql: str) -> None:
        self.database.write_now(lambda tx: tx.run(sql))

    def search(self, q: str, seconds: float | None = None) -> FileSearch:
        return asyncio.run(files.search(self.use_case, ACCOUNT, self.id, q, seconds))

    def paths(self, q: str) -> list[str]:
        return [result.path for result in self.search(q).results]


@pytest.fixture
def chat(database: DatabaseEngine, storage: Storage) -> Chat:
    return Chat(database, storage)


def test_a_query_is_answered_by_one_name_and_not_by_two_together(chat: Chat) -> None:
    chat.put({"alpha beta.txt": "", "alpha.txt": ""})
    chat.rename("alpha.txt", "beta gamma")
    assert chat.paths("alpha beta ") == ["alpha beta.txt"]
    assert chat.paths("gamma beta ") == ["alpha.txt"]
    assert set(chat.paths("alpha ")) == {"alpha beta.txt", "alpha.txt"}
    chat.rename("alpha.txt", None)
    assert chat.paths("gamma ") == []
    assert chat.paths("txt ") == ["alpha.txt", "alpha beta.txt"]


def test_the_files_of_an_older_version_are_indexed_once_when_the_service_starts(chat: Chat) -> None:
    """An older folder has files and texts, and an index that knows nothing of them."""
    chat.put({f"{number:03}.txt": f"sale number{number}" for number in range(2 * INDEX_BATCH)})
    chat.put({"tmp/scratch.txt": "sale number7"})
    chat.rename("003.txt", "Three")
    chat.run("DELETE FROM file_words")
    assert chat.paths("sale ") == []
    asyncio.run(files.index_older_files(chat.use_case))
    assert [len(chat.paths(q)) for q in ("sale ", "number7 ", "399", "three")] == [50, 1, 1, 1]
    chat.run("DELETE FROM file_words")
    asyncio.run(files.index_older_files(chat.use_case))
    assert chat.paths("sale ") == [], "what is current is not indexed at each start"


def test_a_query_of_very_many_words_is_refused(chat: Chat) -> None:
    chat.put({"a.txt": "sale", "b.txt": "夏" * 150})
    words = [f"{letter}{digit}" for letter in "abcdefghij" for digit in range(10)]
    assert chat.paths(" or ".join(["sale", *words[:30]])) == ["a.txt"]
    assert chat.paths("sale " * 40) == ["a.txt"], "what is said again counts once"
    assert chat.paths("夏" * 100) == ["b.txt"], "a run without blanks is one word"
    with pytest.raises(ReadTooLong):
        chat.search(" ".join(words[: QUERY_MAX_WORDS + 1]))
    with pytest.raises(ReadTooLong):
        chat.search('sale -"' + "a b " * 40)


# -- the index alone -----------------------------------------------------------------------------------------------


class Indexed:
    """The index of the database, and what it finds."""

    def __init__(self, database: DatabaseEngine) -> None:
        self.database, self.index = database, database.index

    def put(self, texts: dict[str, str], chat: str = "a") -> None:
        def use(tx: Tx) -> None:
            for path, text in texts.items():
                self.index.put(tx, chat, path, [path], index_text(text))

        self.database.write_now(use)

    def found(self, q: str, chat: str = "a") -> list[str]:
        query = parse(q)
        assert query is not None
        return self.database.read(lambda tx: list(self.index.by_words(tx, chat, query)))


@pytest.fixture
def indexed(database: DatabaseEngine) -> Indexed:
    return Indexed(database)


def test_of_very_many_the_best_come_first(indexed: Indexed) -> None:
    """2,000 files have the words, so that levels choose what is ranked; the best are among the oldest."""
    times = [number // 10 if number < 100 else 1 for number in range(2_000)]
    indexed.put({f"f{number}": "sale " * times[number] + "tent " + "word " * 300 for number in range(2_000)})
    for q in ("sale ", "sal", "tent or sale "):
        best = indexed.found(q)
        assert {int(path[1:]) // 10 for path in best[:10]} == {9}, q
        assert {int(path[1:]) // 10 for path in best[10:50]} == {5, 6, 7, 8}, q
        first = 0 if "or" in q else 10  # f0 to f9 hold no sale
        assert sorted(best) == sorted(f"f{number}" for number in range(first, 2_000)), q
