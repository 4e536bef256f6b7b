"""The journal lists the runs and jobs started from this machine, in one SQLite file per user (mode 0600, WAL).

The service does not know which notebook started a run or job. A "start" is a request that starts a run; it is recorded
before it is sent. This module also keeps the execution history: the turns of this kernel in order, in memory only.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from agentsvc_nb import clock
from agentsvc_nb.wire.runs import Run

_SCHEMA: Final = """
CREATE TABLE runs (
    idempotency_key TEXT PRIMARY KEY,
    created_at TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    notebook TEXT NOT NULL,
    base_url TEXT NOT NULL,
    address TEXT NOT NULL,
    prompt TEXT NOT NULL,
    attachments TEXT NOT NULL,
    uploads TEXT NOT NULL DEFAULT '[]',
    chat TEXT,
    run_id TEXT,
    status TEXT NOT NULL DEFAULT 'starting',
    started_at TEXT,
    ended_at TEXT,
    undone_at TEXT,
    steps INTEGER,
    cost_microcents INTEGER,
    model TEXT,
    typed TEXT NOT NULL DEFAULT ''
);
CREATE INDEX runs_fingerprint ON runs (fingerprint);
CREATE INDEX runs_notebook ON runs (notebook, created_at);
CREATE TABLE jobs (
    job_id TEXT PRIMARY KEY,
    created_at TEXT NOT NULL,
    notebook TEXT NOT NULL,
    base_url TEXT NOT NULL,
    tool TEXT NOT NULL,
    chat TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at TEXT,
    ended_at TEXT
);
CREATE TABLE puts (
    notebook TEXT NOT NULL,
    base_url TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (notebook, base_url, sha256)
);
CREATE TABLE kernel_calls (call_id TEXT PRIMARY KEY, created_at TEXT NOT NULL);
PRAGMA user_version = 5;
"""
_FROM_4: Final = ("ALTER TABLE runs ADD COLUMN undone_at TEXT", "PRAGMA user_version = 5")
WAIT_SECONDS: Final = 2.0
"""How many seconds to wait while another kernel writes to the journal."""
TYPED_CHARS: Final = 4_000
"""The maximum length of a cell's text that is stored. Chat widgets show the text again."""

Upload = tuple[str, str]
"""The name and the SHA-256 of a file that was uploaded to a chat."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A start of a run, as the journal stores it.

    Attributes:
        notebook: the path of the notebook, or outside a notebook, the label of its session.
        address: the `ChatAddress` of the question, as text.
        prompt: the beginning of the cell's text, which `%runs` shows.
        attachments: the SHA-256s of the files attached to the question, separated by spaces.
        uploads: the uploads that the chat already had.
        created_at: when the start was recorded, as an RFC 3339 time in UTC.
        typed: the cell's text as the user typed it, up to `TYPED_CHARS` characters.
    """

    idempotency_key: str
    fingerprint: str
    notebook: str
    base_url: str
    address: str
    prompt: str = ""
    attachments: str = ""
    uploads: frozenset[Upload] = frozenset()
    chat: str | None = None
    run_id: str | None = None
    status: str = "starting"
    created_at: str = ""
    typed: str = ""


_COLUMNS: Final = [field.name for field in fields(JournalEntry)]


def default_path() -> Path:
    """Return the journal's path in the user's state folder."""
    import platformdirs

    return platformdirs.user_state_path("agentsvc-nb") / "journal.sqlite"


class Journal:
    """Stores runs and jobs started from this machine. `Journal(None)` stores them in memory only. Thread-safe.

    If the file can't be used, no error is raised, because users can ask without a journal. `warning` then says why.
    """

    def __init__(self, path: Path | None) -> None:
        self.warning = ""
        """Why the journal cannot be used; empty while it works. After an error, nothing more is written or found."""
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()  # background runs write in other threads

    def start(self, entry: JournalEntry) -> None:
        """Record the start of a run before the request is sent."""
        given = asdict(entry) | {"created_at": entry.created_at or now(), "uploads": json.dumps(sorted(entry.uploads))}
        # After a lost response, a start is repeated with the same key. If the first request has created a run, keep its
        # record.
        self.execute(
            f"INSERT INTO runs ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
            " ON CONFLICT (idempotency_key) DO UPDATE SET status = excluded.status WHERE run_id IS NULL",
            [given[name] for name in _COLUMNS],
        )

    def record_run(self, key: str, run: Run) -> None:
        """Record the run that the service has returned in response to a start. `key` is the start's idempotency key."""
        self.execute("UPDATE runs SET run_id = ?, chat = ? WHERE idempotency_key = ?", [run.run_id, run.chat, key])
        self.record_state(run)

    def record_state(self, run: Run) -> None:
        """Record the state of a run that was just read from the service."""
        self.execute(
            "UPDATE runs SET status = ?, started_at = ?, ended_at = ?, undone_at = ?, steps = ?, cost_microcents = ?,"
            " model = ?, chat = coalesce(?, chat) WHERE run_id = ?",
            [
                *(str(run.status), run.started_at, run.ended_at, run.undone_at, run.steps, run.usage.cost_microcents),
                *(run.model, run.chat, run.run_id),
            ],
        )

    def record_undone(self, run_id: str, at: str | None) -> None:
        """Record when a run's file changes were undone. `at` is None if they are not undone."""
        self.execute("UPDATE runs SET undone_at = ? WHERE run_id = ?", [at, run_id])

    def remove_refused(self, key: str) -> None:
        """Delete the record of a start that the service has refused, because no run belongs to it."""
        self.execute("DELETE FROM runs WHERE idempotency_key = ? AND run_id IS NULL", [key])

    def mark_unsent(self, key: str) -> None:
        """Mark a start whose request did not reach the service. It is not listed, but its key is kept.

        An earlier request with the same key may have reached the service. If so, the service returns the run of that
        request when the cell runs again.
        """
        self.execute("UPDATE runs SET status = 'unsent' WHERE idempotency_key = ? AND run_id IS NULL", [key])

    def find_starts(self, fingerprint: str) -> list[JournalEntry]:
        """Return the 20 newest starts with this fingerprint, newest first. Failed and cancelled runs are left out."""
        rows = self.execute(
            f"SELECT {', '.join(_COLUMNS)} FROM runs"
            " WHERE fingerprint = ? AND status NOT IN ('failed', 'cancelled') ORDER BY rowid DESC LIMIT 20",
            [fingerprint],
        )
        return [
            JournalEntry(**dict(row) | {"uploads": frozenset(map(tuple, json.loads(row["uploads"])))}) for row in rows
        ]

    def find_chat(self, notebook: str, base_url: str, address: str) -> str | None:
        """Return the chat of the notebook's newest run at this `ChatAddress`. Return None if no such run exists."""
        rows = self.execute(
            "SELECT chat FROM runs WHERE notebook = ? AND base_url = ? AND address = ? AND chat IS NOT NULL"
            " ORDER BY rowid DESC LIMIT 1",
            [notebook, base_url, address],
        )
        return str(rows[0]["chat"]) if rows else None

    def attachments(self, base_url: str, chat: str) -> set[str]:
        """Return the SHA-256s of all files that were attached to questions in a chat."""
        rows = self.execute("SELECT attachments FROM runs WHERE base_url = ? AND chat = ?", [base_url, chat])
        return {digest for row in rows for digest in row["attachments"].split()}

    def attached_digests(self, run_id: str) -> tuple[str, ...]:
        """Return the SHA-256s of the files that were attached to the question of a run."""
        rows = self.execute("SELECT attachments FROM runs WHERE run_id = ?", [run_id])
        return tuple(digest for row in rows for digest in row["attachments"].split())

    def record_attachment(self, run_id: str, sha256: str) -> None:
        """Record a file that was uploaded while the run was active, as if it had been attached to the question."""
        self.execute("UPDATE runs SET attachments = trim(attachments || ' ' || ?) WHERE run_id = ?", [sha256, run_id])

    def record_put(self, notebook: str, base_url: str, digests: Iterable[str]) -> None:
        """Record the SHA-256s of files that a cell of the notebook has uploaded."""
        for sha256 in digests:
            self.execute("INSERT OR IGNORE INTO puts VALUES (?, ?, ?)", [notebook, base_url, sha256])

    def recorded_puts(self, notebook: str, base_url: str) -> set[str]:
        """Return the SHA-256s of all files that cells of the notebook have uploaded."""
        rows = self.execute("SELECT sha256 FROM puts WHERE notebook = ? AND base_url = ?", [notebook, base_url])
        return {row["sha256"] for row in rows}

    def begin_call(self, call_id: str) -> bool:
        """Record that this kernel will execute an agent's call. Return False if a kernel has already begun it.

        If the journal can't be used, always return True.
        """
        begun = self.execute(
            "INSERT INTO kernel_calls VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING call_id", [call_id, now()]
        )
        return bool(begun) or bool(self.warning)

    def turns(self, base_url: str, chat: str) -> list[dict[str, Any]]:
        """Return the runs in a chat that were started from this machine, oldest first.

        Each dict has the keys `run_id`, `idempotency_key`, `status`, `typed` and `attachments`.
        """
        rows = self.execute(
            "SELECT run_id, idempotency_key, status, coalesce(nullif(typed, ''), prompt) AS typed, attachments"
            " FROM runs WHERE base_url = ? AND chat = ? AND run_id IS NOT NULL ORDER BY rowid",
            [base_url, chat],
        )
        return [dict(row) for row in rows]

    def runs(self, notebook: str | None) -> list[dict[str, Any]]:
        """Return the rows of a notebook's runs, or of all notebooks' runs if `notebook` is None, oldest first."""
        rows = self.execute(
            "SELECT * FROM runs WHERE notebook = coalesce(?, notebook) AND status <> 'unsent' ORDER BY rowid",
            [notebook],
        )
        return [dict(row) for row in rows]

    def cost_in_month(self, month: str) -> int:
        """Return the total cost of all notebooks' runs in a month (such as `2026-11`, in UTC), in micro-cents.

        Runs without a language model are left out. Their `model`, such as `offline`, contains no colon.
        """
        rows = self.execute(
            "SELECT coalesce(sum(cost_microcents), 0) AS spent FROM runs"
            " WHERE model LIKE '%:%' AND substr(coalesce(started_at, created_at), 1, 7) = ?",
            [month],
        )
        return int(rows[0]["spent"]) if rows else 0

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def __del__(self) -> None:
        """Close the connection. A kernel may end without `close`, and Python 3.13 warns about open connections."""
        self.close()

    def execute(self, sql: str, values: Iterable[Any] = ()) -> list[sqlite3.Row]:
        """Execute a statement and return its rows. After an error (see `warning`), do nothing and return no rows."""
        with self._lock:
            if self.warning:
                return []
            try:
                if self._db is None:
                    self._db = _open(self._path)
                with self._db:
                    return self._db.execute(sql, list(values)).fetchall()
            except (sqlite3.Error, OSError) as error:
                self.warning = (
                    f"The journal of runs is not available ({error}). %runs and stored answers do not work"
                    " until you restart the kernel."
                )
                self._close()
                return []


def _open(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # SQLite creates the -wal and -shm files with the mode of the database file.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    # The timeout applies to other kernels of the user. Between threads, the lock of `Journal` applies.
    db = sqlite3.connect(path or ":memory:", timeout=WAIT_SECONDS, check_same_thread=False)
    try:
        db.row_factory = sqlite3.Row
        _use_wal(db)
        _set_up(db)
    except BaseException:
        db.close()
        raise
    return db


def _use_wal(db: sqlite3.Connection) -> None:
    """Switch to WAL mode. Retry while the database is locked: SQLite does not wait if another kernel switches, too."""
    ends = clock.monotonic() + WAIT_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or clock.monotonic() >= ends:
                raise
            clock.sleep(0.01)


def _set_up(db: sqlite3.Connection) -> None:
    """Create or update the tables in one transaction, because two kernels may start at the same time."""
    db.execute("BEGIN IMMEDIATE")
    with db:
        # A higher version is left as it is: later releases keep the columns that this release uses.
        version = db.execute("PRAGMA user_version").fetchone()[0]
        for statement in _SCHEMA.split(";") if version == 0 else _FROM_4 if version == 4 else ():
            db.execute(statement)


def now() -> str:
    """Return the current time in UTC, in the same format as times from the service."""
    return clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class CellExecution:
    """One execution of a cell. In hosts without cell ids (terminals, nbclient), `cell` is a hash of the cell's text.

    `count` is IPython's execution count. `page` is the id of the page's connection to the kernel, which changes when
    the page is reloaded.
    """

    cell: str
    count: int
    page: str = ""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn that this kernel has asked. `key` is its idempotency key, which is known before the run has an id."""

    execution: CellExecution
    address: str
    key: str
    fingerprint: str


class ExecutionHistory:
    """Holds the turns of this kernel, in order, and decides whether a cell shows the answer of an earlier run.

    While a page is reloaded, it misses the outputs that arrive. So a cell that runs again after a reload may show its
    earlier answer.
    """

    def __init__(self) -> None:
        self._turns: list[TurnRecord] = []

    def add(self, turn: TurnRecord) -> None:
        self._turns.append(turn)

    @property
    def keys(self) -> set[str]:
        """The idempotency keys of all turns in this kernel."""
        return {turn.key for turn in self._turns}

    def is_first_run(self, fingerprint: str, page: str) -> bool:
        """Return True if no cell with this fingerprint has run in this kernel since the page was loaded."""
        return (fingerprint, page) not in ((turn.fingerprint, turn.execution.page) for turn in self._turns)

    def was_asked(self, fingerprint: str, execution: CellExecution) -> bool:
        """Return True if a turn has this fingerprint. Turns of earlier executions of the same cell do not count."""
        return any(turn.fingerprint == fingerprint and not _is_rerun(execution, turn.execution) for turn in self._turns)

    def preceding_key(self, execution: CellExecution, address: str) -> str:
        """Return the key of the turn before this cell's turn at an address, or an empty text if there is none.

        Skip turns of earlier executions of this cell that come directly before it. After a kernel restart, these turns
        are missing, and the returned turn must be the same.
        """
        turns = [turn for turn in self._turns if turn.address == address]
        while turns and _is_rerun(execution, turns[-1].execution):
            turns.pop()
        return turns[-1].key if turns else ""


def _is_rerun(execution: CellExecution, earlier: CellExecution) -> bool:
    return earlier.cell == execution.cell and earlier.count != execution.count
