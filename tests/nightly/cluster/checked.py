"""A cluster under mixed load while its parts are killed, frozen and cut off: what happens becomes a history
(docs/decisions/0059-a-history-is-checked.md)."""

from __future__ import annotations

import contextlib
import email
import hashlib
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.tools.echo_job import EFFECTS
from tests.nightly.cluster import rules
from tests.nightly.cluster.cluster import Balancer, Cluster, made_cluster
from tests.nightly.cluster.disturbances import Disturbances, planned
from tests.nightly.cluster.history import History, digest
from tests.nightly.cluster.load import Client
from tests.nightly.cluster.pooler import Pooler
from tests.unit.tools.mailbox import Box, mail_server

SETTINGS: Final[dict[str, Any]] = {
    "approve_effects": "yes",
    "wallet_cents": 100_000,
    "plan_pool_cents": 5,
    "mail_from": "ads@shop.example",
    "mail_recipients": "@example.com",
}
BUDGET_CENTS: Final = 3
CHATS: Final = 6
"""Chats that the clients have in common."""
CALM_SECONDS: Final = 120.0
"""How long what is in progress may take to end, once all processes are there again."""
LOOK_SECONDS: Final = 0.25
_TABLES: Final = ("job", "usage", "api_key", "tool_call")


@dataclass(frozen=True)
class Load:
    """So many clients for so many seconds, something done every `every` seconds; what is frozen stands still for
    `frozen` seconds. The same seed is the same plan of what is done, and the same choices of each client."""

    seconds: float
    seed: int
    frozen: float
    every: float
    clients: int


def run(history: History, load: Load) -> None:
    """Note what happens, and what there is in the end."""
    with (
        mail_server() as (box, address),
        made_cluster(smtp_url=address, **SETTINGS) as cluster,
        _pooled(cluster) as pooler,
    ):
        cluster.workers[0].module = "tests.nightly.cluster.clock_off"
        cluster.start()
        history.note("limits", plan_pool_cents=SETTINGS["plan_pool_cents"])
        balancer = Balancer(cluster)
        try:
            _work(cluster, pooler, balancer, history, load)
            _note_end(cluster, history)
        finally:
            balancer.close()
        _note_effects(cluster, box, history)


@contextlib.contextmanager
def _pooled(cluster: Cluster) -> Iterator[Pooler]:
    """One replica and one worker reach the database by way of a pooler."""
    pooler = Pooler(cluster.postgres)
    pooler.start()
    try:
        for process in (cluster.replicas[2], cluster.workers[2]):
            direct = process.env["AGENTSVC_DATABASE"]
            process.env = {**process.env, "AGENTSVC_DATABASE": pooler.address(direct)}
        yield pooler
    finally:
        cluster.end()
        pooler.kill()


def _work(cluster: Cluster, pooler: Pooler, balancer: Balancer, history: History, load: Load) -> None:
    """Have the clients work while the plan is carried out, and then until all that they have begun is over."""

    def new_key(*options: str) -> str:
        return cluster.agentsvc("keys", "create", "--name", options[0][2:], *options).split()[-1]

    keys = {
        "wallet": cluster.api_key,
        "budget": new_key("--budget-cents", str(BUDGET_CENTS)),
        "plan": new_key("--member"),
    }
    with cluster.client(0) as first:
        chats = [str(first.runs.start(f"say chat{number}", sync=True).chat) for number in range(CHATS)]
    addresses = [balancer.base_url, *(replica.base_url for replica in cluster.replicas)]
    clients = [Client(f"c{number}", load.seed, history, keys, addresses, chats) for number in range(load.clients)]
    with _looking(cluster, history):
        began = time.monotonic()
        for client in clients:
            client.start()
        try:
            plan = planned(load.seed, load.seconds, load.frozen, load.every)
            Disturbances(cluster, pooler, history).do(plan)
            time.sleep(max(0.0, began + load.seconds - time.monotonic()))
        finally:
            for client in clients:
                client.over.set()
            for client in clients:
                client.end()
        _end_what_nobody_knows(cluster, history)
        _await_calm(cluster)
    for client in clients:
        if client.failure is not None:
            raise client.failure


_ACTIVE: Final = "status IN ('queued', 'running', 'cancelling')"


@contextlib.contextmanager
def _looking(cluster: Cluster, history: History) -> Iterator[None]:
    """Within the block a thread looks at the runs in progress, each time at one moment of the database."""
    over = threading.Event()
    address = cluster.env["AGENTSVC_DATABASE"]
    sql = f"SELECT run_id, chat, attempt FROM run WHERE {_ACTIVE}".encode()

    def look_on() -> None:
        while not over.wait(LOOK_SECONDS):
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(address, autocommit=True) as connection:
                while not over.wait(LOOK_SECONDS):
                    history.note("look", active=connection.execute(sql).fetchall())

    thread = threading.Thread(target=look_on, name="looking")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _end_what_nobody_knows(cluster: Cluster, history: History) -> None:
    """Cancel the runs of starts without an answer: nobody decides about their calls, or ends those that wait."""
    known = {fact["run_id"] for fact in history.facts if fact["kind"] == "start" and fact["outcome"] == "ok"}
    with cluster.client(0) as client:
        for row in cluster.rows(f"SELECT run_id FROM run WHERE {_ACTIVE}"):
            if row["run_id"] not in known:
                client.runs.cancel(row["run_id"])


def _await_calm(cluster: Cluster) -> None:
    """Wait until nothing is in progress, and no file waits to be read; not longer than `CALM_SECONDS`."""
    ends = time.monotonic() + CALM_SECONDS
    left = (
        f"SELECT 1 FROM run WHERE {_ACTIVE} UNION ALL SELECT 1 FROM job WHERE {_ACTIVE} UNION ALL SELECT 1 FROM unread"
    )
    while cluster.rows(left) and time.monotonic() < ends:
        time.sleep(0.5)


def _note_end(cluster: Cluster, history: History) -> None:
    """What the replicas answer now, and what the database has."""
    clients = itertools.cycle([cluster.client(replica) for replica in range(3)])
    runs = cluster.rows("SELECT * FROM run JOIN run_message USING (run_id)")
    for row in runs:
        history.note("stored", table="run", row=row)
        answered = next(clients).runs.get(row["run_id"])
        cost = answered.usage.cost_microcents
        history.note("final", run_id=row["run_id"], status=answered.status, output=answered.output, cost=cost)
    for row in cluster.rows("SELECT run_id, id, type, payload FROM run_event"):
        payload = json.loads(row["payload"])
        history.note("stored", table="run_event", row={**row, "payload": payload, "digest": digest(payload)})
    for table in _TABLES:
        for row in cluster.rows(f"SELECT * FROM {table}"):
            given = {"files": json.loads(row["files"])} if table == "job" else {}
            row.pop("digest", None)
            history.note("stored", table=table, row={**row, **given})
    for upload in [fact for fact in history.facts if fact["kind"] == "upload" and fact["outcome"] == "ok"]:
        client, path, chat = next(clients), upload["path"], upload["chat"]
        try:
            sha256: str | None = hashlib.sha256(client.files.download(path, chat=chat)).hexdigest()
        except StefanBrainError as error:
            sha256 = str(error)
        found = any(each.path == path for each in client.files.search(upload["token"], chat=chat).results)
        history.note("found", chat=chat, path=path, sha256=sha256, found=found)
    for _ in range(3):
        next(clients).close()


def _note_effects(cluster: Cluster, box: Box, history: History) -> None:
    for taken in box.taken:
        history.note("mail", token=email.message_from_bytes(taken.content)["Subject"])  # type: ignore[arg-type]
    for process in (*cluster.replicas, *cluster.workers):
        log = process.folder / EFFECTS
        for line in log.read_text("utf-8").splitlines() if log.exists() else ():
            written = json.loads(line)
            history.note("effect", key=written["key"], token=Path(written["files"][0]).stem, of=process.folder.name)


def report(history: History) -> list[str]:
    """What was done, what was seen and what broke, a line each."""
    counts = Counter(fact["kind"] for fact in history.facts)
    outcomes = Counter((fact["kind"], fact["outcome"], fact.get("code")) for fact in history.facts if "outcome" in fact)
    lines = [f"{count:>7} {kind}" for kind, count in counts.most_common() if kind != "stored"]
    lines += [
        f"{count:>7} {' '.join(str(part) for part in what if part)}"
        for what, count in sorted(outcomes.items(), key=str)
    ]
    resumed = sorted(rules.resumed_after(history.facts), key=lambda each: each[2])
    if resumed:
        seconds = [each[2] for each in resumed]
        lines.append(
            f"runs of a dead or frozen worker went on after {seconds[0]:.1f} to {seconds[-1]:.1f} s, "
            f"half of {len(seconds)} within {seconds[len(seconds) // 2]:.1f} s"
        )
    return lines
