"""How what a run costs grows with the runs and files that are stored, and what an event costs with its followers."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from typing import Any, Final

import psycopg

from tests.bench.cluster.server import Counts, Server
from tests.bench.first_event import once
from tests.bench.starts import START
from tests.nightly.cluster.cluster import Cluster

ROWS: Final = (1_000, 10_000, 100_000)
FOLLOWERS: Final = (9, 99, 999)  # as many at each of three replicas
RUNS: Final = 60
"""Measured at each size, one after the other, each followed."""

_COPY: Final = """
    INSERT INTO {table} OVERRIDING SYSTEM VALUE
    SELECT made.* FROM (SELECT {table} AS given, {table}.* FROM {table} WHERE {those}) AS found,
    generate_series({first}, {last}) AS n, LATERAL jsonb_populate_record(given, jsonb_build_object({changes})) AS made
"""
_NEXT: Final = "nextval(pg_get_serial_sequence('{}', '{}'))"
_RUN: Final = {
    "chat": "'id', id || '_' || n",
    "run": f"'run_id', run_id || '_' || n, 'chat', chat || '_' || n, 'rowid', {_NEXT.format('run', 'rowid')}",
    "run_event": "'run_id', run_id || '_' || n",
}
_FILE: Final = {
    "file": "'path', path || '_' || n",
    "file_text": f"'path', path || '_' || n, 'id', {_NEXT.format('file_text', 'id')}",
    "file_words": "'path', path || '_' || n, 'id', "
    "(SELECT t.id FROM file_text AS t WHERE t.chat = found.chat AND t.path = found.path || '_' || n)",
}
"""What a copy of an ended run in a chat of its own, or of a file in the same chat, has otherwise, by table."""

Followed = Callable[[int], tuple[Counts, int, Sequence[float]]]
"""What a run to so many took, its events, and how late (s) they were, in order."""


def report(cluster: Cluster, server: Server, followed: Followed, quick: bool) -> None:
    """Print a row for each size. All but the first run, and file, are copies that SQL makes of one by the service."""
    sizes = ROWS[:1] if quick else ROWS
    runs = 10 if quick else RUNS
    with cluster.client(0) as client, psycopg.connect(cluster.env["AGENTSVC_DATABASE"], autocommit=True) as connection:
        run = client.runs.start("write grown.txt lanterns of paper\nsay hello", sync=True)
        columns = "commits | reads | statements | replicas ms | workers ms | PostgreSQL ms | first event, p50 ms"
        print(f"| stored | {columns} |\n|{'---|' * 8}")
        for there, size in zip((1, *sizes), sizes, strict=False):
            _copy(connection, _RUN, {"chat": f"id = '{run.chat}'"}, f"run_id = '{run.run_id}'", range(there, size))
            print(_row(f"{size:,} runs", cluster, server, runs, START))
        inside = json.dumps({"message": "say hello", "chat": run.chat}).encode()
        for there, size in zip((1, *sizes), sizes, strict=False):
            _copy(connection, _FILE, {}, f"chat = '{run.chat}' AND path = 'grown.txt'", range(there, size))
            print(_row(f"{size:,} files in the run's chat", cluster, server, runs, inside))
        print(f"\n| followers of an event | {columns.replace('first event, p50', 'late, p99')} |\n|{'---|' * 8}")
        for followers in FOLLOWERS[:1] if quick else FOLLOWERS:
            used, events, late = followed(followers)
            print(_line(f"{followers:,}", used, events, late[int(len(late) * 0.99)]))


def _copy(
    connection: psycopg.Connection[Any], tables: dict[str, str], of: dict[str, str], those: str, numbers: range
) -> None:
    for table, changes in tables.items():
        given = {"table": table, "first": numbers.start, "last": numbers.stop - 1, "changes": changes}
        connection.execute(_COPY.format(**given, those=of.get(table, those)).encode())
    connection.execute("VACUUM ANALYZE")


def _row(what: str, cluster: Cluster, server: Server, runs: int, start: bytes) -> str:
    before = server.counts()
    replicas = cluster.replicas
    firsts = [once(replicas[number % len(replicas)].base_url, cluster.api_key, start)[0] for number in range(runs)]
    return _line(what, server.counts() - before, runs, statistics.median(firsts))


def _line(what: str, used: Counts, count: int, seconds: float) -> str:
    statements = sum(used.statements.values())
    numbers = [used.commits, used.reads, statements, *(one * 1000 for one in used.cpu)]
    return f"| {what} | {' | '.join(f'{number / count:.1f}' for number in numbers)} | {seconds * 1000:.0f} |"
