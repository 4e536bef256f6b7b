"""What PostgreSQL did: commits and reads, and which statements, by the part of the service that sends
them; and the processor time of all processes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg

from agentsvc_nb.service import sql
from agentsvc_nb.service.store.postgres import translated
from tests.bench.process import cpu_seconds
from tests.nightly.cluster.cluster import DURABLE, Cluster

OPTIONS: Final = f"{DURABLE} -c shared_preload_libraries=pg_stat_statements"
_VALUE: Final = re.compile(r"%\(\w+\)s|\$\d+|'[^']*'|\b\d+\b|\bEPOCH\b")
"""What differs between a statement as it is sent and as the server counts it."""
_PARTS: Final = {
    "events": ("events.next_events", "events.insert_event", "runs.used"),
    "request": ("keys", "accounts.get"),
    "start": ("chats", "idempotency", "usage", "runs.insert", "runs.active_of_chat"),
    "claim": ("runs.claim", "runs.message", "runs.saved", "jobs.follow"),
    "documents": ("files",),
    "end": ("runs.finish", "jobs.following", "jobs.spent_in"),
    "reading": ("events.events", "runs.status", "runs.get", "runs.shown"),
    "looking": ("processes",),
}
"""The statements of each part, by the file that has them and the beginning of their names; the first that fits."""


@dataclass(frozen=True)
class Counts:
    """What the database did, and the processor time (s) of replicas, workers and database."""

    commits: int
    reads: int
    statements: Counter[str]
    cpu: tuple[float, float, float]

    def __sub__(self, before: Counts) -> Counts:
        return Counts(
            self.commits - before.commits,
            self.reads - before.reads,
            self.statements - before.statements,
            (self.cpu[0] - before.cpu[0], self.cpu[1] - before.cpu[1], self.cpu[2] - before.cpu[2]),
        )


class Server:
    """The database server of a cluster, which was started with `OPTIONS`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._connection: psycopg.Connection[Any] = psycopg.connect(cluster.env["AGENTSVC_DATABASE"], autocommit=True)
        self._connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        self._named = _named()

    def close(self) -> None:
        self._connection.close()

    def counts(self) -> Counts:
        found = self._connection.execute(
            "SELECT query, calls FROM pg_stat_statements JOIN pg_database ON oid = dbid "
            "WHERE datname = current_database() AND query NOT LIKE '%pg_stat_statements%'"
        )
        commits = reads = 0
        statements: Counter[str] = Counter()
        for query, calls in found:
            if query.startswith("BEGIN"):
                reads += calls * ("READ ONLY" in query)
                commits += calls * ("READ ONLY" not in query)
            elif "procrastinate" in query and "UPDATE run" not in query and "INSERT" not in query:
                # Each job that ends was also taken; other looks at the queue find nothing to commit.
                commits += 2 * calls * ("finish_job" in query)
                statements["queue"] += calls
            elif name := self._named.get(_alike(query)):
                statements[_part(name)] += calls
            elif query.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK TO")):
                statements["savepoints"] += calls
            elif not query.startswith(("COMMIT", "SET", "SELECT pg_advisory", "LISTEN")):
                statements["other"] += calls
        return Counts(commits, reads, statements, self._cpu())

    def ended(self) -> int:
        """The number of runs that have ended."""
        row = self._connection.execute("SELECT count(*) FROM run WHERE ended_at IS NOT NULL").fetchone()
        assert row is not None
        return int(row[0])

    def _cpu(self) -> tuple[float, float, float]:
        replicas = sum(cpu_seconds(process.pid) for process in self._cluster.replicas)
        workers = sum(cpu_seconds(process.pid) for process in self._cluster.workers)
        main = int((self._cluster.postgres.folder / "data" / "postmaster.pid").read_text().split()[0])
        return replicas, workers, sum(cpu_seconds(pid) for pid in (main, *_children(main)))


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _named() -> dict[str, str]:
    """The file and name of each named statement, by its text as `_alike` has it."""
    service = Path(sql.__file__).parent
    files = sorted(path.relative_to(service).with_suffix("") for path in service.glob("*/*.sql"))
    named = ((f"{file.name}.{name}", text) for file in files for name, text in sql.load(file.as_posix()).items())
    return {_alike(translated(text).decode()): name for name, text in named}


def _alike(sql: str) -> str:
    bare = re.sub(r"--.*", " ", sql)
    return " ".join(_VALUE.sub("?", bare).split())


def _part(name: str) -> str:
    for part, beginnings in _PARTS.items():
        if name.startswith(beginnings):
            return part
    return "other"
