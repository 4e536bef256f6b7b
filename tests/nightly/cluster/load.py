"""Clients of a cluster that do all that clients do while its parts are killed, frozen and cut off. What they were
answered, and what the database has in the end, is a history."""

from __future__ import annotations

import contextlib
import email
import hashlib
import json
import random
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.tools.echo_job import EFFECTS
from tests.nightly.cluster.cluster import Cluster, Pooler, Process, made_cluster
from tests.support.databases import PostgresServer
from tests.support.waiting import until
from tests.unit.tools.mailbox import Box, mail_server

Fact = dict[str, Any]
Fault = Callable[[threading.Event], object]
CLIENTS: Final = 8
CHATS: Final = 6
"""Chats that the clients have in common."""
BUDGET_CENTS: Final = 3
PLAN_POOL_CENTS: Final = 5
AGAIN_SECONDS: Final = 100.0
"""How long a client sends again what has a key or may be asked again, and follows a run."""
PASSING: Final = frozenset({"workspace_busy", "internal_error", "bad_gateway", "gateway_timeout", None})
"""Codes that say nothing of whether the service would take it a moment later; None: no answer."""
ACTIVE: Final = "status IN ('queued', 'running', 'cancelling')"
TABLES: Final = {
    "run": "SELECT * FROM run JOIN run_message USING (run_id)",
    "event": "SELECT run_id, id, type, payload FROM run_event ORDER BY run_id, id",
    "stored_job": "SELECT job_id, status, error, attempt FROM job",
    "usage": "SELECT key_id, account, month, pool, microcents FROM usage WHERE kind = 'tokens'",
    "key": "SELECT id, name FROM api_key",
}


class History:
    """What was asked, answered and done, and the rows at the end, by kind. `runs` and `events` are rows by run."""

    def __init__(self) -> None:
        self.facts: defaultdict[str, list[Fact]] = defaultdict(list)
        self.runs: dict[str, Fact] = {}
        self.events: defaultdict[str, list[Fact]] = defaultdict(list)
        self._began = time.monotonic()

    def note(self, kind: str, **fields: Any) -> None:
        self.facts[kind].append({"t": round(time.monotonic() - self._began, 3), **fields})

    def of(self, kind: str, **fields: object) -> Iterator[Fact]:
        """The facts of the kind that have these fields."""
        return (fact for fact in self.facts[kind] if all(fact[name] == value for name, value in fields.items()))

    def write(self, path: Path) -> None:
        """Write a line for each fact, for a look at what broke a rule."""
        lines = [
            json.dumps({"kind": kind, **fact}, default=str) for kind, facts in self.facts.items() for fact in facts
        ]
        path.write_text("\n".join(lines))


@dataclass(frozen=True)
class Script:
    """A message to the scripted model, whose first word is its own, and what comes of it."""

    text: str
    said: str
    costs: int = 0
    ends: str = "completed"


def talk(token: str, rng: random.Random) -> Script:
    """Some steps, each of them a model call that costs."""
    steps = range(rng.randint(1, 4))
    lines = [f"usage 1000 500\nsay part {n}\nwait {rng.choice([0, 0.2, 1, 5, 10])}\nstep 1" for n in steps]
    said = [token, *(f"part {n}" for n in steps), "end"]
    return Script("\n".join([f"say {token}", *lines, "say end"]), "\n".join(said), 150_000 * len(steps))


def endless(token: str, rng: random.Random) -> Script:
    return Script(f"say {token}\nusage 100 0\nstep 1\nsay on\nwait 900", f"{token}\non", 10_000, "cancelled")


def mail(token: str, rng: random.Random) -> Script:
    given = {"to": ["ana@example.com"], "subject": token, "text": token, "dry_run": False}
    return Script(f"say {token}\ncall send_email {json.dumps(given)}\nsay end", f"{token}\nend")


Write = Callable[[str, random.Random], Script]


class Client:
    """Does one thing after the other. `keys` are by group, `addresses` of the proxy and of each replica."""

    def __init__(
        self, name: str, seed: int, history: History, keys: Mapping[str, str], addresses: list[str], chats: list[str]
    ) -> None:
        self._name = name
        self._rng = random.Random(f"{seed} {name}")
        self._history = history
        self._clients = {
            group: [AgentService(key, address, timeout=20) for address in addresses] for group, key in keys.items()
        }
        self._chats = chats
        self._count = 0

    def work(self, over: threading.Event) -> None:
        acts = [self._talk] * 6 + [self._cancel] * 2 + [self._mail] * 3 + [self._upload, self._job, self._spend] * 2
        while not over.wait(self._rng.uniform(0.05, 0.5)):
            self._rng.choice(acts)()
        for clients in self._clients.values():
            for client in clients:
                client.close()

    def _talk(self) -> None:
        if run_id := self._started(self._token(), talk, self._rng.choice([None, *self._chats])):
            self._follow(run_id)

    def _spend(self) -> None:
        """With a key that has a budget, or a member's token: they are refused when that is used up."""
        self._started(self._token(), talk, group=self._rng.choice(["budget", "plan"]))

    def _cancel(self) -> None:
        if run_id := self._started(self._token(), endless, self._rng.choice([None, *self._chats])):
            self._again(lambda: self._any().runs.cancel(run_id))
            self._follow(run_id)

    def _mail(self) -> None:
        """Decide once or twice, also against the first verdict, at any replica."""
        token = self._token()

        def decide(run_id: str, call_id: str) -> None:
            for approved in self._rng.choice([[True], [True], [False], [True, False], [True, True]]):
                runs = self._any().runs
                answered = self._again(partial(runs.approve if approved else runs.refuse, run_id, call_id))
                self._history.note("verdict", call_id=call_id, token=token, approved=approved, **answered)

        if run_id := self._started(token, mail):
            self._follow(run_id, decide)

    def _upload(self) -> None:
        token, chat = self._token(), self._rng.choice(self._chats)
        data = f"{token} {self._rng.random()}\n".encode() * self._rng.choice([1, 50, 5_000])
        answered = self._again(lambda: self._any().files.upload((f"{token}.txt", data), chat=chat))
        sha256 = hashlib.sha256(data).hexdigest()
        self._history.note("upload", token=token, chat=chat, path=f"uploads/{token}.txt", sha256=sha256, **answered)

    def _job(self) -> None:
        """A job with an effect, which is sent once."""
        token, chat = self._token(), self._rng.choice(self._chats)
        given = {"steps": self._rng.randint(0, 8), "seconds": self._rng.choice([0, 1, 5]), "files": {token: token}}
        submit = self._any().jobs.submit
        answered = _once(lambda: submit("echo_job", given, chat=chat).job_id)
        self._history.note("job", token=token, **answered)

    def _started(self, token: str, write: Write, chat: str | None = None, group: str = "wallet") -> str | None:
        """The id of a run that was accepted. Half of the starts have a key, and some of those are sent twice."""
        script, key = write(token, self._rng), f"key-{token}" if self._rng.random() < 0.6 else None
        found = None
        for _ in range(self._rng.choice([1, 1, 2]) if key else 1):

            def start() -> str:
                return self._any(group).runs.start(script.text, chat=chat, idempotency_key=key).run_id

            answered = self._again(start) if key else _once(start)
            self._history.note("start", token=token, key=key, group=group, script=script, **answered)
            found = answered.get("id") or found
        return found

    def _follow(self, run_id: str, decide: Callable[[str, str], None] | None = None) -> None:
        """Read the run's events, at any replica, to the end, and then its record."""
        seen: list[list[Any]] = []
        whole, ends = False, time.monotonic() + AGAIN_SECONDS
        while not whole and time.monotonic() < ends:
            try:
                with self._any().runs.attach(run_id, after=seen[-1][0] if seen else 0) as stream:
                    for event in stream:
                        seen.append([event.id, event.type, dict(event.payload)])
                        whole = event.type == "run.ended"
                        if decide and event.type == "approval.requested":
                            decide(run_id, event.payload["call_id"])
            except StefanBrainError:
                time.sleep(0.5)
        self._history.note("stream", run_id=run_id, events=seen, whole=whole)
        if whole:
            with contextlib.suppress(APIConnectionError):
                run = self._any().runs.get(run_id)
                self._history.note("read", run_id=run_id, status=run.status, output=run.output)

    def _any(self, group: str = "wallet") -> AgentService:
        """The proxy mostly, or a replica."""
        proxy, *replicas = self._clients[group]
        return self._rng.choice([proxy] * 3 + replicas)

    def _token(self) -> str:
        self._count += 1
        return f"{self._name}x{self._count}"

    def _again(self, call: Callable[[], object]) -> Fact:
        """How a call went that may be sent again until there is an answer."""
        ends = time.monotonic() + AGAIN_SECONDS
        while (answered := _once(call))["outcome"] != "ok":
            passing = answered["outcome"] == "unknown" or answered["code"] in PASSING
            if not passing or time.monotonic() > ends:
                break
            time.sleep(0.3)
        return answered


def _once(call: Callable[[], object]) -> Fact:
    """How a call that is not to be sent twice went: ok, refused, or unknown."""
    try:
        return {"outcome": "ok", "id": call()}
    except StefanBrainError as error:
        unknown = error.sent if isinstance(error, APIConnectionError) else (error.status or 500) >= 500
        unknown = unknown and error.code != "workspace_busy"
        return {"outcome": "unknown" if unknown else "refused", "code": error.code, "why": str(error)[:200]}


def run(history: History, seconds: float, seed: int) -> None:
    """Note what happens in so many seconds, and what there is in the end."""
    settings = {"mail_from": "ads@shop.example", "mail_recipients": "@example.com", "approve_effects": "yes"}
    with (
        mail_server() as (box, address),
        made_cluster(3, smtp_url=address, wallet_cents=100_000, plan_pool_cents=PLAN_POOL_CENTS, **settings) as cluster,
    ):
        cluster.pool(cluster.replicas[2], cluster.workers[2])
        cluster.start()
        keys = {"wallet": cluster.api_key}
        for name, *options in (("budget", "--budget-cents", str(BUDGET_CENTS)), ("plan", "--member")):
            keys[name] = cluster.agentsvc("keys", "create", "--name", name, *options).split()[-1]
        with cluster.client(0) as first, cluster.balanced() as proxy:
            chats = [str(first.runs.start(f"say chat{n}", sync=True).chat) for n in range(CHATS)]
            addresses = [proxy, *(each.base_url for each in cluster.replicas)]
            clients = [Client(f"c{n}", seed, history, keys, addresses, chats) for n in range(CLIENTS)]
            _work(cluster, history, seconds, random.Random(seed), clients)
            # Nobody knows the runs of starts without an answer: nobody decides about their calls, or ends them.
            known = {start["id"] for start in history.of("start", outcome="ok")}
            for run_id in {row["run_id"] for row in cluster.rows(f"SELECT run_id FROM run WHERE {ACTIVE}")} - known:
                first.runs.cancel(run_id)
            active = f"SELECT status FROM run WHERE {ACTIVE} UNION ALL SELECT status FROM job WHERE {ACTIVE}"
            until(lambda: cluster.rows(f"{active} UNION ALL SELECT 'unread' FROM unread"), lambda left: not left, 120)
            _note_end(cluster, history, box)


def _work(cluster: Cluster, history: History, seconds: float, rng: random.Random, clients: list[Client]) -> None:
    over = threading.Event()
    works: list[Fault] = [partial(_look, cluster, history), *(client.work for client in clients)]
    works += [partial(_disturb, history, random.Random(rng.random()), acts) for acts in _faults(cluster, rng)]
    with ThreadPoolExecutor(len(works)) as pool:
        tasks = [pool.submit(work, over) for work in works]
        wait(tasks, seconds, FIRST_EXCEPTION)
        over.set()
    for task in tasks:
        task.result()


def _disturb(history: History, rng: random.Random, faults: Mapping[str, Fault], over: threading.Event) -> None:
    """Do one after the other, each once before any comes again."""
    left: list[str] = []
    while not over.wait(rng.uniform(5, 20)):
        left = left or rng.sample(list(faults), len(faults))
        history.note("fault", what=left[-1])
        faults[left.pop()](over)


def _faults(cluster: Cluster, rng: random.Random) -> list[dict[str, Fault]]:
    """What is done to workers, and at the same time to all others: of each kind some are left."""

    def kill(processes: list[Process], over: threading.Event) -> None:
        process = rng.choice(processes)
        process.end(signal.SIGKILL)
        over.wait(3)
        process.start()

    def freeze(processes: list[Process], over: threading.Event) -> None:
        process = rng.choice(processes)
        process.send(signal.SIGSTOP)
        over.wait(25)
        process.send(signal.SIGCONT)

    def restart(program: PostgresServer | Pooler, over: threading.Event) -> None:
        program.stop()
        program.start()

    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    workers: dict[str, Fault] = {
        "kill a worker": partial(kill, cluster.workers),
        "freeze a worker": partial(freeze, cluster.workers),
    }
    others: dict[str, Fault] = {
        "kill a replica": partial(kill, cluster.replicas),
        "freeze a replica": partial(freeze, cluster.replicas),
        "restart the database": partial(restart, cluster.postgres),
        "restart the pooler": partial(restart, cluster.pooler),
        "cut connections": lambda over: cluster.rows(f"{cut} AND pid <> pg_backend_pid()"),
    }
    return [workers, others]


def _look(cluster: Cluster, history: History, over: threading.Event) -> None:
    """Note the runs in progress, each time at one moment of the database."""
    while not over.wait(0.25):
        with contextlib.suppress(psycopg.OperationalError):
            history.note("look", active=cluster.rows(f"SELECT run_id, chat FROM run WHERE {ACTIVE}"))


def _note_end(cluster: Cluster, history: History, box: Box) -> None:
    """What the database, the replicas, the mail server and the workers' logs have."""
    for kind, sql in TABLES.items():
        for row in cluster.rows(sql):
            history.note(kind, **row)
    history.runs = {row["run_id"]: row for row in history.of("run")}
    for event in history.of("event"):
        history.events[event["run_id"]].append({**event, "payload": json.loads(event["payload"])})
    with cluster.client(1) as client:
        for upload in history.of("upload", outcome="ok"):
            path, chat = upload["path"], upload["chat"]
            upload["found"] = hashlib.sha256(client.files.download(path, chat=chat)).hexdigest()
            upload["searched"] = [each.path for each in client.files.search(upload["token"], chat=chat).results]
    for taken in box.taken:
        history.note("mail", token=email.message_from_bytes(taken.content)["Subject"])  # type: ignore[arg-type]
    for worker in cluster.workers:
        log = worker.folder / EFFECTS
        for line in log.read_text().splitlines() if log.exists() else ():
            history.note("effect", key=json.loads(line)["key"], token=json.loads(line)["files"][0])
