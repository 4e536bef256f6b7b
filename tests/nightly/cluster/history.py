"""What the clients of a cluster did and saw, what was done to its processes, and what its database has at the end:
facts, each a line of JSON, which `rules.py` checks."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

Fact = dict[str, Any]
"""`kind` says what it is, `t` when it was noted, in seconds from the beginning. The kinds and their fields:

limits       plan_pool_cents: a setting of all processes
start        token, key, group (which key of the service), chat, begun, outcome (ok, refused, unknown), code, run_id,
             status; what the script comes to: said, costs (micro-cents), ends (completed, cancelled)
read         run_id, begun, status: what a look at the run answered
stream       run_id, events ([id, type, digest]), whole (true if it came to the end)
cancel       run_id, outcome, status
verdict      run_id, call_id, token, approved, outcome, code
upload       token, chat, path, sha256, begun, outcome
job          token, key, outcome, job_id, chat
fault        what, target, at (when), seconds, held ({run_id: attempt} of a process that was stopped), away (true: some
             process did not reach the database)
fault_over   what, target
look         active ([run_id, chat, attempt]): the runs in progress, all at one moment
final        run_id, status, output, cost: what a replica answers after all is over
found        chat, path, sha256 (of what was downloaded), found (true if a search finds the token), at the same time
mail         token: the mail server took a mail
effect       key, line: a line of a worker's log of effects
stored       table, row: a row of the database at the end
"""

MICROCENTS: Final = 1_000_000


class History:
    """Notes facts, from any thread, in a file and in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.facts: list[Fact] = []
        self._guard = threading.Lock()
        self._began = time.monotonic()
        self._file = path.open("w", encoding="utf-8")

    def now(self) -> float:
        return round(time.monotonic() - self._began, 3)

    def note(self, kind: str, **fields: Any) -> None:
        with self._guard:
            fact = {"kind": kind, "t": self.now(), **fields}
            self.facts.append(fact)
            self._file.write(json.dumps(fact, ensure_ascii=False) + "\n")

    def close(self) -> None:
        with self._guard:
            self._file.close()


def digest(payload: object) -> str:
    """A short mark of an event's payload, by which two are compared."""
    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()[:12]


class Facts:
    """The facts of a history, by kind, and the database's rows by table."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._by_kind: defaultdict[str, list[Fact]] = defaultdict(list)
        self._rows: defaultdict[str, list[Fact]] = defaultdict(list)
        for fact in facts:
            if fact["kind"] == "stored":
                self._rows[fact["table"]].append(fact["row"])
            else:
                self._by_kind[fact["kind"]].append(fact)
        self.runs: dict[str, Fact] = {row["run_id"]: row for row in self.rows("run")}
        self.events: defaultdict[str, list[Fact]] = defaultdict(list)
        for row in sorted(self.rows("run_event"), key=lambda row: (row["run_id"], row["id"])):
            self.events[row["run_id"]].append(row)

    def of(self, kind: str, **fields: object) -> Iterator[Fact]:
        """The facts of the kind that have these fields."""
        return (fact for fact in self._by_kind[kind] if all(fact.get(name) == value for name, value in fields.items()))

    def rows(self, table: str) -> list[Fact]:
        return self._rows[table]

    def standing(self, run_id: str) -> list[Fact]:
        """The events of a run that still count: `run.resumed` takes those since the checkpoint back
        (docs/api/events.md)."""
        found: list[Fact] = []
        for event in self.events[run_id]:
            if event["type"] == "run.resumed":
                found = [each for each in found if each["id"] <= event["payload"]["discard_after"]]
            found.append(event)
        return found
