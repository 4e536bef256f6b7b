"""Search in one large chat, against FTS5 as it is: its own words, `ORDER BY bm25` of all matches.

With `--postgres`, the service's search on PostgreSQL against its own on SQLite.

python -m tests.bench.search [--quick] [--postgres]
"""

from __future__ import annotations

import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

from agentsvc_nb.documents.indexing import index_text
from agentsvc_nb.service.chats import chat_records
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import Content, FileOrigin
from agentsvc_nb.service.ports import DatabaseEngine, Tx
from agentsvc_nb.service.store.postgres import PostgresDatabase
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from tests.support.databases import PostgresServer

ACCOUNT: Final = "acct_bench"
BATCH: Final = 200
VOCABULARY: Final = 20_000
RARE: Final = 10_000
"""Names are of words from here on: files that are found by name need no ranking, and would hide what that costs."""


class MadeFile(NamedTuple):
    name: str
    words: list[str]

    @property
    def text(self) -> str:
        return " ".join(self.words)


class Corpus:
    """Files and queries that come out the same each time: words by Zipf's law, about 1.9 KB a file."""

    def __init__(self) -> None:
        self._chance = random.Random(1)
        words = dict[str, None]()
        while len(words) < VOCABULARY:
            words[self._word()] = None
        self.words = [*words]
        self._weights = [*accumulate(1 / (place + 2) for place in range(VOCABULARY))]

    def _word(self) -> str:
        if self._chance.random() < 0.05:
            return "".join(chr(0x4E00 + self._chance.randrange(300)) for _ in range(2))
        vowels = "aeiou" if self._chance.random() < 0.9 else "aeiouéüåø"
        syllables = range(self._chance.randint(1, 4))
        return "".join(self._chance.choice("bcdfghklmnprstvwz") + self._chance.choice(vowels) for _ in syllables)

    def file(self, number: int) -> MadeFile:
        length = self._chance.choice((100, 200, 300, 300, 400, 500))
        words = self._chance.choices(self.words, cum_weights=self._weights, k=length)
        return MadeFile(f"{self._chance.choice(self.words[RARE:])}-{number}.txt", words)

    def queries(self, sample: list[MadeFile], count: int) -> dict[str, list[str]]:
        """Return `count` queries of each kind. Phrases and names are taken from the sample."""
        choice = self._chance.choice
        common, others = self.words[:50], self.words[50:2_000]

        def phrase() -> str:
            words = choice(sample).words
            at = self._chance.randrange(len(words) - 1)
            return f'"{words[at]} {words[at + 1]}"'

        kinds: dict[str, Callable[[], str]] = {
            "a common word": lambda: f"{choice(common)} ",
            "a less common word": lambda: f"{choice(others)} ",
            "a prefix of 3 letters": lambda: choice(common)[:3],
            "words and a prefix": lambda: f"{choice(common)} {choice(others)} {choice(common)[:2]}",
            "a phrase": phrase,
            "a file's name": lambda: choice(sample).name,
        }
        return {kind: [make() for _ in range(count)] for kind, make in kinds.items()}


class Ours:
    """The service's own search, from the action down."""

    def __init__(self, database: DatabaseEngine) -> None:
        self._database = database
        create = partial(chat_records.create, account=ACCOUNT, project=None, label=None, now=1)
        self._chat = database.write_now(create).id

    def put(self, made: Sequence[MadeFile]) -> None:
        def use(tx: Tx) -> None:
            for number, one in enumerate(made):
                content = Content(one.name, "text/plain", len(one.text), f"{number:064x}", index_text(one.text))
                files.write(
                    tx, self._database.index, self._chat, f"uploads/{one.name}", content, FileOrigin("upload"), 1
                )

        self._database.write_now(use)

    def ask(self, q: str) -> None:
        self._database.read(lambda tx: files.search_within(tx, self._database.index, ACCOUNT, self._chat, q))


class Plain:
    """FTS5 with its own tokenizer: the best 50 by bm25, without names and snippets."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("CREATE VIRTUAL TABLE plain USING fts5 (words, prefix = '1 2 3')")

    def put(self, made: Sequence[MadeFile]) -> None:
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO plain VALUES (?)", [(one.text,) for one in made])
        self._db.execute("COMMIT")

    def ask(self, q: str) -> None:
        words = ['"' + word.strip('"') + '"' for word in re.findall(r'"[^"]*"|\S+', q)]
        match = " AND ".join(words) + ("" if q.endswith((" ", '"')) else " *")
        self._db.execute(
            "SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY bm25(plain) LIMIT 50", (match,)
        ).fetchall()


def main(quick: bool, on_postgres: bool = False) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(SqliteDatabase(Path(folder, "ours.sqlite3")).open()) as sqlite,
    ):
        if not on_postgres:
            _compare(Ours(sqlite), Plain(Path(folder, "plain.sqlite3")), quick)
            return
        server = PostgresServer("-c listen_addresses= -c shared_buffers=128MB")
        try:
            with closing(PostgresDatabase(server.new_database()).open()) as database:
                _compare(Ours(database), Ours(sqlite), quick, _backend(database))
        finally:
            server.remove()


def _backend(database: DatabaseEngine) -> int:
    """Return the id of PostgreSQL's process that answers this thread."""
    row = database.read(lambda tx: tx.one("SELECT pg_backend_pid() AS pid"))
    assert row is not None
    return int(row["pid"])


def _compare(ours: Ours, peer: Ours | Plain, quick: bool, backend: int = 0) -> None:
    count, asked = (3_000, 5) if quick else (100_000, 60)
    corpus, sample = Corpus(), list[MadeFile]()
    for first in range(0, count, BATCH):
        made = [corpus.file(number) for number in range(first, first + BATCH)]
        sample += made[:1]
        for store in (ours, peer):
            store.put(made)

    def milliseconds(store: Ours | Plain, query: str) -> float:
        """CPU time of this process and PostgreSQL's, once the pages are in memory."""
        store.ask(query)
        begin = time.process_time() + _cpu_time(backend)
        store.ask(query)
        return (time.process_time() + _cpu_time(backend) - begin) * 1000

    title = f"search in {count:,} files, CPU ms"
    print(f"\n{title:36} {'p50':>7} {'p99':>7} {'peer p50':>9} {'p99':>7} {'ours to it':>11}")
    for kind, queries in corpus.queries(sample, asked).items():
        (mine, slow), (theirs, slow_too) = (
            (statistics.median(found), sorted(found)[int(asked * 0.99)])
            for found in ([milliseconds(store, query) for query in queries] for store in (ours, peer))
        )
        print(f"{kind:36} {mine:7.1f} {slow:7.1f} {theirs:9.1f} {slow_too:7.1f} {mine / theirs:11.2f}")


def _cpu_time(pid: int) -> float:
    """Seconds of a process; 0 without one."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9 if pid else 0.0


if __name__ == "__main__":
    main("--quick" in sys.argv, "--postgres" in sys.argv)
