"""What is done to a cluster while it works: a plan, the same for the same seed, and the doing of it."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import psycopg

from tests.nightly.cluster import clock_off
from tests.nightly.cluster.history import History

if TYPE_CHECKING:
    from tests.nightly.cluster.cluster import Cluster, Process
    from tests.nightly.cluster.pooler import Pooler

WORKERS: Final = ("kill worker", "freeze worker")
KINDS: Final = (
    *WORKERS,
    "kill replica",
    "freeze replica",
    "restart database",
    "cut connections",
    "restart contents",
    "set clock back",
    "restart pooler",
)
AWAY: Final = frozenset({"restart database", "cut connections", "restart pooler"})
"""While they are done some process does not reach the database. One of them at a time."""
BACK_MS: Final = -3_600_000
DEAD_SECONDS: Final = 3.0


@dataclass(frozen=True)
class Step:
    """At `at` seconds, for `seconds`, this is done to a process, by its number."""

    at: float
    what: str
    target: int
    seconds: float


def planned(seed: int, seconds: float, frozen: float, every: float) -> list[Step]:
    """One step about every `every` seconds, each kind once before any comes again, worker's faults twice."""
    rng = random.Random(seed)
    steps: list[Step] = []
    left: list[str] = []
    at = every / 2
    while at < seconds:
        left = left or rng.sample([*KINDS, *WORKERS], len(KINDS) + len(WORKERS))
        what = left.pop()
        lasts = frozen if what.startswith("freeze") else every * 2 if what == "set clock back" else DEAD_SECONDS
        steps.append(Step(round(at + rng.uniform(0, every / 4), 2), what, rng.randrange(3), lasts))
        at += every
    return steps


class Disturbances:
    """Does the steps of a plan to a cluster, each in a thread: one that lasts does not keep the next one."""

    def __init__(self, cluster: Cluster, pooler: Pooler, history: History) -> None:
        self._cluster = cluster
        self._pooler = pooler
        self._history = history
        self._threads: list[threading.Thread] = []
        self._failures: list[BaseException] = []
        self._turns = {name: threading.Lock() for name in ("worker", "replica", "database", "contents", "clock")}

    def do(self, steps: list[Step]) -> None:
        """Do all of them, in time, and wait until the last is over."""
        began = time.monotonic()
        for step in steps:
            time.sleep(max(0.0, began + step.at - time.monotonic()))
            thread = threading.Thread(target=self._do, args=(step,), name=step.what)
            self._threads.append(thread)
            thread.start()
        for thread in self._threads:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def _do(self, step: Step) -> None:
        does: dict[str, Callable[[Step], None]] = {
            "kill worker": lambda step: self._kill(self._cluster.workers[step.target], step),
            "kill replica": lambda step: self._kill(self._cluster.replicas[step.target], step),
            "freeze worker": lambda step: self._freeze(self._cluster.workers[step.target], step),
            "freeze replica": lambda step: self._freeze(self._cluster.replicas[step.target], step),
            "restart database": self._restart_database,
            "cut connections": self._cut_connections,
            "restart contents": self._restart_contents,
            "set clock back": self._set_clock_back,
            "restart pooler": self._restart_pooler,
        }
        # One thing at a time is done to workers, and one to replicas: of each, some are left.
        with self._turns["database" if step.what in AWAY else step.what.split()[1]]:
            try:
                does[step.what](step)
            except BaseException as error:
                self._failures.append(error)
        self._history.note("fault_over", what=step.what, target=step.target)

    def _note(self, step: Step, process: Process | None = None) -> None:
        fields = {"what": step.what, "target": step.target, "seconds": step.seconds, "away": step.what in AWAY}
        at = self._history.now()
        self._history.note("fault", **fields, at=at, held=self._held(process) if process else {})

    def _kill(self, process: Process, step: Step) -> None:
        process.kill()
        self._note(step, process)
        time.sleep(step.seconds)
        process.start()

    def _freeze(self, process: Process, step: Step) -> None:
        process.send(signal.SIGSTOP)
        self._note(step, process)
        time.sleep(step.seconds)
        process.send(signal.SIGCONT)

    def _held(self, process: Process) -> dict[str, int]:
        """The runs of a process, by their attempts; none while the database is away."""
        instance = json.loads((process.folder / "ready.json").read_text())["instance"]
        sql = f"SELECT run_id, attempt FROM run WHERE worker_id = '{instance}' AND status IN ('running', 'cancelling')"
        try:
            return {row["run_id"]: row["attempt"] for row in self._cluster.rows(sql)}
        except psycopg.OperationalError:
            return {}

    def _restart_database(self, step: Step) -> None:
        self._note(step)
        self._cluster.postgres.stop()
        self._cluster.postgres.start()

    def _cut_connections(self, step: Step) -> None:
        self._note(step)
        with psycopg.connect(self._cluster.env["AGENTSVC_DATABASE"], autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    def _restart_contents(self, step: Step) -> None:
        self._note(step)
        self._cluster.s3.kill()
        time.sleep(1)
        self._cluster.s3.start()

    def _set_clock_back(self, step: Step) -> None:
        """Of the first worker, whose clock can be set (`clock_off.py`)."""
        self._note(step)
        folder = self._cluster.workers[0].folder
        clock_off.set_off(folder, BACK_MS)
        time.sleep(step.seconds)
        clock_off.set_off(folder, 0)

    def _restart_pooler(self, step: Step) -> None:
        self._note(step)
        self._pooler.kill()
        self._pooler.start()
