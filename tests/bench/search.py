"""Search in many chats and in a very large one, against FTS5 as it is: its own words, `ORDER BY bm25` of all matches.
With `--database postgres`, the service's search on PostgreSQL against its own on SQLite.

python -m tests.bench.search [--quick] [--database postgres] [--large]

With `--large` in the very large one alone: PostgreSQL takes some 140 files a second, so the others are 12 minutes more.
"""

from __future__ import annotations

import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agentsvc_nb.documents.indexing import indexed_text
from agentsvc_nb.service.chats import chat_records
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import Author, Content
from agentsvc_nb.service.ports import DatabaseEngine, Tx
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from tests.bench.corpus import Corpus, Made
from tests.support.databases import PostgresServer

ACCOUNT = "acct_bench"
BATCH = 200


@dataclass(frozen=True)
class Scale:
    """How many chats of how many files, and the queries of each kind."""

    chats: int
    files: int
    queries: int


FULL = (Scale(1_000, 100, 60), Scale(1, 100_000, 60))
QUICK = (Scale(20, 100, 5), Scale(1, 3_000, 5))


class Ours:
    """The service's own search, from the action down."""

    def __init__(self, database: DatabaseEngine, count: int) -> None:
        self._database = database
        self._index = database.index
        create = partial(chat_records.create, account=ACCOUNT, project=None, label=None, now=1)
        self._chats = [self._database.write_now(create).id for _ in range(count)]

    def put(self, chat: int, made: Sequence[Made]) -> None:
        contents = [
            Content(one.name, "text/plain", len(one.text), f"{number:064x}", indexed_text(one.text))
            for number, one in enumerate(made)
        ]

        def use(tx: Tx) -> None:
            for content in contents:
                path = f"uploads/{content.file_name}"
                files.write(tx, self._index, self._chats[chat], path, content, Author("upload"), 1)

        self._database.write_now(use)

    def ask(self, chat: int, q: str) -> int:
        id_ = self._chats[chat]
        return len(self._database.read(lambda tx: files.search_within(tx, self._index, ACCOUNT, id_, q)).results)

    def backend(self) -> int:
        """The id of PostgreSQL's process that answers this thread."""
        row = self._database.read(lambda tx: tx.one("SELECT pg_backend_pid() AS pid"))
        assert row is not None
        return int(row["pid"])

    def close(self) -> None:
        self._database.close()


class Plain:
    """FTS5 with its own tokenizer: the best 50 by bm25, without names and snippets."""

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "plain.sqlite3", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("CREATE VIRTUAL TABLE plain USING fts5 (scope, words, prefix = '1 2 3')")

    def put(self, chat: int, made: Sequence[Made]) -> None:
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO plain VALUES (?, ?)", [(f"c{chat}", one.text) for one in made])
        self._db.execute("COMMIT")

    def ask(self, chat: int, q: str) -> int:
        match = f'{{scope}} : "c{chat}" AND {{words}} : ({_plain(q)})'
        sql = "SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY bm25(plain, 0, 1) LIMIT 50"
        return len(self._db.execute(sql, (match,)).fetchall())

    def close(self) -> None:
        self._db.close()


def _plain(q: str) -> str:
    """The query in FTS5's own language."""
    terms = re.findall(r'-?"[^"]*"|\S+', q)
    prefix = " *" if not q.endswith((" ", '"')) else ""
    said = ""
    for at, term in enumerate(terms):
        word = '"' + term.lstrip("-").strip('"') + '"' + (prefix if at == len(terms) - 1 else "")
        if term == "or":
            said += " OR "
        elif term.startswith("-"):
            said += f" NOT {word}"
        else:
            said += word if not said or said.endswith("OR ") else f" AND {word}"
    return said


Asked = Ours | Plain


def main(quick: bool, on_postgres: bool = False, large_alone: bool = False) -> None:
    many, large = QUICK if quick else FULL
    for scale in (large,) if large_alone else (many, large):
        with tempfile.TemporaryDirectory() as folder:
            print(f"\n{scale.chats:,} x {scale.files:,} files\n")
            sqlite = Ours(SqliteDatabase(Path(folder, "ours.sqlite3")).open(), scale.chats)
            if on_postgres:
                compare_databases(sqlite, scale)
            else:
                compare(sqlite, Plain(Path(folder)), scale)


def compare_databases(sqlite: Ours, scale: Scale) -> None:
    """Ours on PostgreSQL against ours on SQLite; "plain" is then the latter."""
    from agentsvc_nb.service.store.postgres import PostgresDatabase

    server = PostgresServer("-c listen_addresses= -c shared_buffers=128MB")
    try:
        ours = Ours(PostgresDatabase(server.new_database()).open(), scale.chats)
        global _backend
        _backend = ours.backend()
        compare(ours, sqlite, scale)
    finally:
        server.remove()


def compare(ours: Ours, plain: Asked, scale: Scale) -> None:
    corpus = Corpus()
    try:
        sample = fill(corpus, scale, ours, plain)
        report(scale, corpus.queries(sample, scale.queries), ours, plain)
    finally:
        ours.close()
        plain.close()


def fill(corpus: Corpus, scale: Scale, ours: Ours, plain: Asked) -> list[Made]:
    """Write all files, by turns; some of them, to take phrases from."""
    sample: list[Made] = []
    seconds = [0.0, 0.0]
    for chat in range(scale.chats):
        for first in range(0, scale.files, BATCH):
            made = [corpus.file(number) for number in range(first, min(first + BATCH, scale.files))]
            sample += made[:1]
            for which, put in enumerate((ours.put, plain.put)):
                seconds[which] += timed(partial(put, chat, made))
    count = scale.chats * scale.files
    print(f"written: {count / seconds[0]:,.0f} files a second; plain FTS5 {count / seconds[1]:,.0f}\n")
    return sample


def report(scale: Scale, queries: dict[str, list[str]], ours: Ours, plain: Asked) -> None:
    print("| query | found | p50 ms | p99 ms | plain p50 | plain p99 | ratio of p50 |\n|---|---|---|---|---|---|---|")
    columns: list[list[float]] = [[], [], []]
    for kind, asked in queries.items():
        rows = [measure(number % scale.chats, q, ours, plain) for number, q in enumerate(asked)]
        measured = [list(column) for column in zip(*rows, strict=True)]
        print(line(kind, *measured))
        for column, more in zip(columns, measured, strict=True):
            column += more
    print(line("all", *columns))


def measure(chat: int, q: str, ours: Ours, plain: Asked) -> tuple[float, float, float]:
    """Results, and milliseconds of each."""
    found = ours.ask(chat, q)  # the first time brings the pages into memory
    mine = timed(partial(ours.ask, chat, q))
    plain.ask(chat, q)
    return found, mine * 1000, timed(partial(plain.ask, chat, q)) * 1000


def line(kind: str, found: list[float], mine: list[float], theirs: list[float]) -> str:
    halves = statistics.median(mine), statistics.median(theirs)
    ends = percentile(mine), percentile(theirs)
    numbers = f"{halves[0]:.1f} | {ends[0]:.1f} | {halves[1]:.1f} | {ends[1]:.1f} | {halves[0] / halves[1]:.2f}"
    return f"| {kind} | {statistics.median(found):.0f} | {numbers} |"


def percentile(values: list[float]) -> float:
    """The 99th of a hundred."""
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.99))]


def timed(use: Callable[[], object]) -> float:
    """Seconds of this process and PostgreSQL's on a processor: others on the machine make no difference."""
    begin = time.process_time() + _server_time()
    use()
    return time.process_time() + _server_time() - begin


_backend = 0
"""The id of the process of PostgreSQL that answers; 0 without one."""


def _server_time() -> float:
    if not _backend:
        return 0.0
    return int(Path(f"/proc/{_backend}/schedstat").read_text().split()[0]) / 1e9


if __name__ == "__main__":
    main("--quick" in sys.argv, on_postgres="postgres" in sys.argv, large_alone="--large" in sys.argv)
