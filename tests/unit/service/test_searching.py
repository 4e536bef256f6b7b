"""Search as a whole, on a real database: names and contents, typed outputs, older data folders (docs/api/files.md)."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsvc_nb.documents.indexing import indexed_text
from agentsvc_nb.service.chats import chat_records
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import Author, Content
from agentsvc_nb.service.files.files import INDEX_BATCH
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runner import workspace
from agentsvc_nb.service.runner.workspace import FOUND_MAX, ChatWorkspace
from agentsvc_nb.service.store import sqlite
from agentsvc_nb.service.use_cases import DEAR_SECONDS
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.support.stopping import ReadTooLong
from agentsvc_nb.wire.files import FileSearch
from agentsvc_nb.wire.limits import QUERY_MAX_WORDS
from tests.bench.process import resident_mb
from tests.support import databases
from tests.unit.service import contexts

ACCOUNT = "acct_1"
SLOW_QUERY = " ".join("я" * length for length in range(1, 19)) + " b "
SLOW_TEXT = f"ю{'я' * 250_000} {SLOW_QUERY}"


class Chat:
    """One chat with its files."""

    def __init__(self, folder: Path) -> None:
        self.database = databases.opened(folder / "db.sqlite3")
        self.storage = contexts.storage(self.database, folder / "blobs")
        self.use_case = self.storage.use_case
        self.id = self.database.write_now(lambda tx: chat_records.create(tx, ACCOUNT, None, None, 1).id)

    def put(self, texts: dict[str, str], output: str | None = None) -> None:
        author = Author("output", output_id=output, output_type="report") if output else Author("upload")

        def use(tx: Tx) -> None:
            for path, text in texts.items():
                content = Content(path, "text/plain", len(text), "0" * 64, indexed_text(text))
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
def chat(tmp_path: Path) -> Iterator[Chat]:
    chat = Chat(tmp_path)
    yield chat
    chat.database.close()


def test_names_come_first_and_of_them_the_newest(chat: Chat) -> None:
    chat.put({"text.md": "brief brief brief", "brief-1.md": "", "brief-2.md": "", "brief-3.md": "brief"})
    chat.put({"brief-1.md": "written again"})
    found = chat.search("brief")
    assert [(one.path, one.match) for one in found.results] == [
        ("brief-1.md", "name"),
        ("brief-3.md", "name"),
        ("brief-2.md", "name"),
        ("text.md", "content"),
    ]


def test_a_query_is_answered_by_one_name_and_not_by_two_together(chat: Chat) -> None:
    chat.put({"alpha beta.txt": "", "alpha.txt": ""})
    chat.rename("alpha.txt", "beta gamma")
    assert chat.paths("alpha beta ") == ["alpha beta.txt"]
    assert chat.paths("gamma beta ") == ["alpha.txt"]
    assert set(chat.paths("alpha ")) == {"alpha beta.txt", "alpha.txt"}
    chat.rename("alpha.txt", None)
    assert chat.paths("gamma ") == []
    assert chat.paths("txt ") == ["alpha.txt", "alpha beta.txt"]


def test_an_exclusion_looks_at_both_names_and_at_the_contents(chat: Chat) -> None:
    chat.put({"sale.txt": "draft", "draft.txt": "sale", "own.txt": "sale", "sale-2.txt": "fine", "c.txt": "sale"})
    chat.rename("own.txt", "My draft")
    assert chat.paths("sale -draft") == ["sale-2.txt", "c.txt"]


def test_a_typed_output_answers_once_among_very_many_files(chat: Chat) -> None:
    """More of its files match than are asked for at first, and those of others come after them."""
    chat.put({f"other/{number}.txt": "one sale in a longer text " + "word " * 50 for number in range(70)})
    chat.put({f"cut/{number:04}.txt": "sale sale sale" for number in range(1_500)}, output="out_1")
    chat.put({"cut/best.txt": "sale sale sale sale sale"}, output="out_1")
    chat.put({"cut/newest.txt": "sale"}, output="out_1")
    found = chat.paths("sale ")
    assert found[0] == "cut/best.txt"
    assert len(found) == 50
    assert all(path.startswith("other/") for path in found[1:])


def test_agents_are_given_the_best_hundred(chat: Chat) -> None:
    chat.put({f"{number}.txt": "sale" for number in range(150)} | {"best.txt": "sale sale sale sale"})
    found = asyncio.run(ChatWorkspace(chat.storage, chat.id).search("sale "))
    assert len(found) == FOUND_MAX
    assert found[0][0] == "best.txt"


def test_looking_for_passages_counts_in_the_time_of_a_search(chat: Chat) -> None:
    """Every letter of the long word has to be looked at, for each word of the query, and none begins a word."""
    chat.put({"long.txt": SLOW_TEXT})
    with pytest.raises(ReadTooLong):
        chat.search(SLOW_QUERY, 0.1)
    assert chat.paths("b ") == ["long.txt"]


def test_an_agents_search_ends_too(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    chat.put({"a.txt": "sale"})
    monkeypatch.setattr(workspace, "SEARCH_SECONDS", 0)
    with pytest.raises(WorkFailure, match="takes too long") as failed:
        asyncio.run(ChatWorkspace(chat.storage, chat.id).search("sale "))
    assert failed.value.code == "too_much_work"


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


@pytest.mark.sqlite("counts the steps of SQLite's virtual machine")
def test_a_search_ends_within_a_step_of_the_index(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """A phrase that stands nowhere: the index goes through all positions of all files before it says so, and what looks
    at the time between two steps of SQLite's virtual machine comes after half of that."""
    monkeypatch.setattr(sqlite, "DEADLINE_CHECK_SECONDS", 0.002)
    text = indexed_text("a b " * 50_000)

    def use(tx: Tx) -> None:
        for number in range(10):
            content = Content(f"{number}.txt", "text/plain", 1, "0" * 64, text)
            files.write(tx, chat.use_case.index, chat.id, content.file_name, content, Author("upload"), 1)

    chat.database.write_now(use)
    nowhere = '"' + "a b " * 6 + 'b b"'
    with pytest.raises(ReadTooLong):
        chat.search(nowhere, 0.001)
    assert chat.search(nowhere).results == []


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


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say how much memory a process has")
def test_a_dear_search_leaves_no_freed_memory_behind(chat: Chat) -> None:
    """Each of the four threads kept what it had freed in pieces between what is in use: 250 MB in all."""
    kept: list[bytes] = []

    def work(_: Tx) -> None:
        pieces = [b"x" * 20_000 for _ in range(5_000)]
        kept.extend(pieces[::50])
        while time.thread_time() < 2 * DEAR_SECONDS:
            pass

    before = resident_mb(os.getpid())
    asyncio.run(chat.use_case.search(work, None))
    assert resident_mb(os.getpid()) - before < 40
