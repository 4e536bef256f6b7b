"""The journal: runs and jobs started from this machine, in one SQLite file per user (0600, WAL).

The API lists neither of them. This module also keeps the turns of this kernel in order, in memory only.
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
"""Seconds for which a journal waits while another kernel writes."""
TYPED_CHARS: Final = 4_000
"""The number of characters of a cell's text that are stored, for chats that are shown again."""

Upload = tuple[str, str]
"""A file's name and its SHA-256."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One start of a run.

    Attributes:
        notebook: the notebook's path, or its session's label outside a notebook.
        address: the `ChatAddress` as text: a chat, a session label or a new chat.
        prompt: the beginning of the cell as typed, for `%runs`.
        attachments: SHA-256s of the files attached to the run, separated by blanks.
        uploads: the uploads that the chat had before the run.
        created_at: when the start was recorded, as an RFC 3339 time in UTC.
        typed: the cell as typed, up to `TYPED_CHARS` characters.
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
    """The journal of runs and jobs; `Journal(None)` is in memory only.

    An unusable file raises no error, because asking works without a journal; see `warning`. Thread-safe.
    """

    def __init__(self, path: Path | None) -> None:
        self.warning = ""
        """Why the journal cannot be used; empty while it works. After an error, nothing more is written or found."""
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()  # background runs write from their own threads

    def start(self, entry: JournalEntry) -> None:
        """Record a start before it is sent."""
        given = asdict(entry) | {"created_at": entry.created_at or now(), "uploads": json.dumps(sorted(entry.uploads))}
        # A repeated key repeats a start whose response was lost. A start that already has a run does not change.
        self.do(
            f"INSERT INTO runs ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
            " ON CONFLICT (idempotency_key) DO UPDATE SET status = excluded.status WHERE run_id IS NULL",
            [given[name] for name in _COLUMNS],
        )

    def opened(self, key: str, run: Run) -> None:
        """Record the run that a start returned."""
        self.do("UPDATE runs SET run_id = ?, chat = ? WHERE idempotency_key = ?", [run.run_id, run.chat, key])
        self.seen(run)

    def seen(self, run: Run) -> None:
        """Record the state of a run, as just read from the service."""
        self.do(
            "UPDATE runs SET status = ?, started_at = ?, ended_at = ?, undone_at = ?, steps = ?, cost_microcents = ?,"
            " model = ?, chat = coalesce(?, chat) WHERE run_id = ?",
            [
                *(str(run.status), run.started_at, run.ended_at, run.undone_at, run.steps, run.usage.cost_microcents),
                *(run.model, run.chat, run.run_id),
            ],
        )

    def undone(self, run_id: str, at: str | None) -> None:
        """Record when a run's changes of files were undone, or None if the changes are in force."""
        self.do("UPDATE runs SET undone_at = ? WHERE run_id = ?", [at, run_id])

    def refused(self, key: str) -> None:
        """Remove a start that the service refused, because its key has no run."""
        self.do("DELETE FROM runs WHERE idempotency_key = ? AND run_id IS NULL", [key])

    def unsent(self, key: str) -> None:
        """Mark a start that did not reach the service. The start is not listed, but its key is kept.

        An earlier attempt with the same key may have arrived. If so, a repeated start with the key finds its run.
        """
        self.do("UPDATE runs SET status = 'unsent' WHERE idempotency_key = ? AND run_id IS NULL", [key])

    def known(self, fingerprint: str) -> list[JournalEntry]:
        """Return the newest 20 starts with this fingerprint, newest first, without failed and cancelled runs."""
        rows = self.do(
            f"SELECT {', '.join(_COLUMNS)} FROM runs"
            " WHERE fingerprint = ? AND status NOT IN ('failed', 'cancelled') ORDER BY rowid DESC LIMIT 20",
            [fingerprint],
        )
        return [
            JournalEntry(**dict(row) | {"uploads": frozenset(map(tuple, json.loads(row["uploads"])))}) for row in rows
        ]

    def chat_of(self, notebook: str, base_url: str, address: str) -> str | None:
        """Return the chat of the newest run at this address, if any."""
        rows = self.do(
            "SELECT chat FROM runs WHERE notebook = ? AND base_url = ? AND address = ? AND chat IS NOT NULL"
            " ORDER BY rowid DESC LIMIT 1",
            [notebook, base_url, address],
        )
        return str(rows[0]["chat"]) if rows else None

    def attachments(self, base_url: str, chat: str) -> set[str]:
        """Return the SHA-256s of all files that were attached to runs of a chat."""
        rows = self.do("SELECT attachments FROM runs WHERE base_url = ? AND chat = ?", [base_url, chat])
        return {digest for row in rows for digest in row["attachments"].split()}

    def inputs(self, run_id: str) -> tuple[str, ...]:
        """Return the SHA-256s of the files that were attached to a run."""
        rows = self.do("SELECT attachments FROM runs WHERE run_id = ?", [run_id])
        return tuple(digest for row in rows for digest in row["attachments"].split())

    def attached(self, run_id: str, sha256: str) -> None:
        """Record a file that a run later added to its chat's uploads, so that it counts as the run's upload."""
        self.do("UPDATE runs SET attachments = trim(attachments || ' ' || ?) WHERE run_id = ?", [sha256, run_id])

    def put(self, notebook: str, base_url: str, digests: Iterable[str]) -> None:
        """Record the SHA-256s of files that a cell of a notebook has put into its chat."""
        for sha256 in digests:
            self.do("INSERT OR IGNORE INTO puts VALUES (?, ?, ?)", [notebook, base_url, sha256])

    def put_by(self, notebook: str, base_url: str) -> set[str]:
        """Return the SHA-256s of all files that cells of a notebook have put into its chat."""
        rows = self.do("SELECT sha256 FROM puts WHERE notebook = ? AND base_url = ?", [notebook, base_url])
        return {row["sha256"] for row in rows}

    def begin_call(self, call_id: str) -> bool:
        """Record that a kernel is about to run a call of the agent. Return False if this or another kernel has already
        run it.

        An unusable journal knows no calls.
        """
        begun = self.do(
            "INSERT INTO kernel_calls VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING call_id", [call_id, now()]
        )
        return bool(begun) or bool(self.warning)

    def turns(self, base_url: str, chat: str) -> list[dict[str, Any]]:
        """Return the runs of a chat that were started from this machine, oldest first.

        Columns: `run_id`, `idempotency_key`, `status`, `typed`, `attachments`.
        """
        rows = self.do(
            "SELECT run_id, idempotency_key, status, coalesce(nullif(typed, ''), prompt) AS typed, attachments"
            " FROM runs WHERE base_url = ? AND chat = ? AND run_id IS NOT NULL ORDER BY rowid",
            [base_url, chat],
        )
        return [dict(row) for row in rows]

    def runs(self, notebook: str | None) -> list[dict[str, Any]]:
        """Return a notebook's runs, oldest first, as rows of the table. With None, return the runs of all notebooks."""
        rows = self.do(
            "SELECT * FROM runs WHERE notebook = coalesce(?, notebook) AND status <> 'unsent' ORDER BY rowid",
            [notebook],
        )
        return [dict(row) for row in rows]

    def spent(self, month: str) -> int:
        """Return the cost in micro-cents of all notebooks' language model runs that began in this UTC month
        (`2026-11`).

        Names of agents without a model, such as `offline`, contain no provider.
        """
        rows = self.do(
            "SELECT coalesce(sum(cost_microcents), 0) AS spent FROM runs"
            " WHERE model LIKE '%:%' AND substr(coalesce(started_at, created_at), 1, 7) = ?",
            [month],
        )
        return int(rows[0]["spent"]) if rows else 0

    def close(self) -> None:
        with self._lock:
            self._shut()

    def _shut(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def __del__(self) -> None:
        """Close the connection, because a kernel ends without `close`, and Python 3.13 warns about open connections."""
        self.close()

    def do(self, sql: str, values: Iterable[Any] = ()) -> list[sqlite3.Row]:
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
                self._shut()
                return []


def _open(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # SQLite gives its -wal and -shm files the mode of the database.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    # Wait while another kernel of the user writes. `Journal` has the lock between threads.
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
    """Switch to WAL, with retries: if another kernel also switches, SQLite does not wait, but fails as locked."""
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
    """Create the tables in one transaction, because two kernels may start at the same time."""
    db.execute("BEGIN IMMEDIATE")
    with db:
        # A later release keeps the columns that this release knows.
        version = db.execute("PRAGMA user_version").fetchone()[0]
        for statement in _SCHEMA.split(";") if version == 0 else _FROM_4 if version == 4 else ():
            db.execute(statement)


def now() -> str:
    """Return the current time in UTC, in the format of the service's times."""
    return clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Place:
    """One execution of a cell. Without cell ids (terminals, nbclient), `cell` is a hash of its text. `page` is the
    front end's connection, which changes when the page is loaded again.
    """

    cell: str
    execution: int
    page: str = ""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn. `key` is the idempotency key of the turn's start. It is known before the run has an id."""

    place: Place
    address: str
    key: str
    fingerprint: str


class ExecutionHistory:
    """The turns of this kernel. The class decides which runs may be shown again.

    A reloaded page has lost the outputs that arrived during the reload, so each fingerprint counts once per page.
    """

    def __init__(self) -> None:
        self._turns: list[TurnRecord] = []

    def add(self, turn: TurnRecord) -> None:
        self._turns.append(turn)

    @property
    def keys(self) -> set[str]:
        """The idempotency keys of all turns."""
        return {turn.key for turn in self._turns}

    def first(self, fingerprint: str, page: str) -> bool:
        """Return True if this kernel has not yet run a cell with this fingerprint for this page."""
        return (fingerprint, page) not in ((turn.fingerprint, turn.place.page) for turn in self._turns)

    def asked(self, fingerprint: str, place: Place) -> bool:
        """Return True if another cell, or an earlier turn in this execution of the cell, has this fingerprint."""
        return any(turn.fingerprint == fingerprint and not _is_rerun(place, turn.place) for turn in self._turns)

    def before(self, place: Place, address: str) -> str:
        """Return the key of the turn that precedes a cell at an address; empty if there is none.

        Ignores earlier executions of the same cell directly before it. After a restart, the cell runs once, and the
        cells below it must then find the same preceding turn as now.
        """
        turns = [turn for turn in self._turns if turn.address == address]
        while turns and _is_rerun(place, turns[-1].place):
            turns.pop()
        return turns[-1].key if turns else ""


def _is_rerun(place: Place, earlier: Place) -> bool:
    return earlier.cell == place.cell and earlier.execution != place.execution
