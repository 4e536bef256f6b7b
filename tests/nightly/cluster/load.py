"""Clients of a cluster that do all that clients do, at random but by a seed, and note what they are answered."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from tests.nightly.cluster.history import Fact, History, digest

AGAIN_SECONDS: Final = 90.0
"""How long a client sends again what has a key, or what may be asked again."""
ANSWER_SECONDS: Final = 20.0
FOLLOW_SECONDS: Final = 120.0
PASSING: Final = frozenset({"workspace_busy", "internal_error", "bad_gateway", "gateway_timeout", None})
"""Codes of a start that says nothing of whether the service would take it a moment later; None: no answer."""
STEP_COST: Final = 150_000


@dataclass(frozen=True)
class Script:
    """A message to the scripted model, and what comes of it."""

    text: str
    said: str
    costs: int = 0
    ends: str = "completed"


def talk(token: str, rng: random.Random) -> Script:
    """Some steps of some words, each of them a model call that costs."""
    lines, said = [f"say {token}"], [token]
    for step in range(rng.randint(1, 4)):
        lines += [
            "usage 1000 500",
            f"say part {step}",
            f"wait {rng.choice([0, 0.2, 1, 5, 10])}",
            f"progress {step} 4 on",
            "step 1",
        ]
        said.append(f"part {step}")
    return Script("\n".join([*lines, "say end"]), "\n".join([*said, "end"]), STEP_COST * (len(said) - 1))


def endless(token: str, rng: random.Random) -> Script:
    return Script(f"say {token}\nusage 100 0\nstep 1\nsay on\nwait 900", f"{token}\non", 10_000, "cancelled")


def mail(token: str, rng: random.Random) -> Script:
    given = {"to": ["ana@example.com"], "subject": token, "text": token, "dry_run": False}
    return Script(f"say {token}\ncall send_email {json.dumps(given)}\nsay end", f"{token}\nend")


def written(token: str, rng: random.Random) -> Script:
    return Script(
        f"say {token}\nwrite {token}.txt {token} was written\nusage 10 0\nstep 1\nsay end", f"{token}\nend", 1_000
    )


class Client:
    """One of the clients: a thread that does one thing after the other until `over` is set.

    `keys` are the service's keys by group: wallet, budget, plan. `addresses`: of the proxy and of each replica.
    """

    def __init__(
        self, name: str, seed: int, history: History, keys: Mapping[str, str], addresses: list[str], chats: list[str]
    ) -> None:
        self._name = name
        self._rng = random.Random(f"{seed} {name}")
        self._history = history
        self._clients = {
            (group, address): AgentService(key, address, timeout=ANSWER_SECONDS)
            for group, key in keys.items()
            for address in addresses
        }
        self._addresses = addresses
        self._chats = chats
        self._count = 0
        self._thread = threading.Thread(target=self._act_on, name=name)
        self.over = threading.Event()
        self.failure: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._thread.join()
        for client in self._clients.values():
            client.close()

    def _act_on(self) -> None:
        acts = [self._talk] * 6 + [self._cancel] * 2 + [self._mail] * 3 + [self._upload] * 2
        acts += [self._job] * 2 + [self._pictures, self._spend, self._spend, self._write]
        try:
            while not self.over.is_set():
                self._rng.choice(acts)()
                self.over.wait(self._rng.uniform(0.05, 0.5))
        except BaseException as error:
            self.failure = error
            raise

    # -- what it does ----------------------------------------------------------------------------------------------

    def _talk(self) -> None:
        chat = self._rng.choice([None, *self._chats])
        run_id = self._started(talk, chat=chat)
        if run_id is not None:
            self._follow(run_id)

    def _write(self) -> None:
        run_id = self._started(written)
        if run_id is not None:
            self._follow(run_id)

    def _spend(self) -> None:
        """With a key that has a budget, or a member's token: they are refused when that is used up."""
        self._started(talk, group=self._rng.choice(["budget", "plan"]))

    def _cancel(self) -> None:
        run_id = self._started(endless, chat=self._rng.choice([None, *self._chats]))
        if run_id is not None:
            self.over.wait(self._rng.uniform(0, 3))
            answered = self._again(lambda: self._any().runs.cancel(run_id).status)
            self._history.note("cancel", run_id=run_id, **answered)
            self._follow(run_id)

    def _mail(self) -> None:
        run_id = self._started(mail)
        if run_id is None:
            return
        token = self._token

        def decide(event_type: str, payload: Mapping[str, Any]) -> None:
            if event_type == "approval.requested":
                for approved in self._rng.choice([[True], [True], [False], [True, False], [True, True]]):
                    self._decide(run_id, payload["call_id"], token, approved)

        self._follow(run_id, decide)

    def _decide(self, run_id: str, call_id: str, token: str, approved: bool) -> None:
        def say() -> None:
            client = self._any()
            (client.runs.approve if approved else client.runs.refuse)(run_id, call_id)

        answered = self._again(say)
        self._history.note("verdict", run_id=run_id, call_id=call_id, token=token, approved=approved, **answered)

    def _upload(self) -> None:
        token, chat, begun = self._next_token(), self._rng.choice(self._chats), self._history.now()
        path = f"uploads/{token}.txt"
        data = f"{token} {self._rng.random()}\n".encode() * self._rng.choice([1, 50, 5_000])
        answered = self._again(lambda: self._any().files.upload((f"{token}.txt", data), chat=chat) and None)
        sha256 = hashlib.sha256(data).hexdigest()
        self._history.note("upload", token=token, chat=chat, path=path, sha256=sha256, begun=begun, **answered)
        with contextlib.suppress(StefanBrainError):
            self._any().files.search(token, chat=chat)

    def _job(self) -> None:
        """A job with an effect, which is sent once."""
        token, chat = self._next_token(), self._rng.choice(self._chats)
        given = {
            "steps": self._rng.randint(0, 8),
            "seconds": self._rng.choice([0, 1, 5]),
            "files": {f"{token}.txt": token},
        }
        self._submit(token, "echo_job", given, chat, None)

    def _pictures(self) -> None:
        token, chat = self._next_token(), self._rng.choice(self._chats)
        request = {"request": {"brief": f"Summer sale {token}", "outputs": {"count": 1}}}
        for _ in range(2):
            self._submit(token, "create_images", request, chat, f"key-{token}")

    def _submit(self, token: str, tool: str, given: dict[str, Any], chat: str, key: str | None) -> None:
        def submit() -> dict[str, Any]:
            accepted = self._any().jobs.submit(tool, given, chat=chat, idempotency_key=key)
            return {"job_id": accepted.job_id, "chat": chat}

        answered = self._again(submit) if key else self._once(submit)
        self._history.note("job", token=token, key=key, **answered)

    # -- how it does it --------------------------------------------------------------------------------------------

    def _started(
        self,
        write: Callable[[str, random.Random], Script],
        *,
        chat: str | None = None,
        group: str = "wallet",
    ) -> str | None:
        """The id of a run that was accepted. Half of the starts have a key, and some of those are sent twice."""
        self._token = token = self._next_token()
        script, key = write(token, self._rng), f"key-{token}" if self._rng.random() < 0.6 else None
        times = self._rng.choice([1, 1, 2]) if key else 1
        noted: Fact = {"token": token, "key": key, "group": group, "chat": chat}
        noted |= {"said": script.said, "costs": script.costs, "ends": script.ends}
        found = None
        for _ in range(times):
            begun = self._history.now()

            def start() -> dict[str, Any]:
                run = self._any(group).runs.start(script.text, chat=chat, idempotency_key=key)
                return {"run_id": run.run_id, "status": run.status}

            answered = self._again(start) if key else self._once(start)
            self._history.note("start", begun=begun, **noted, **answered)
            found = answered.get("run_id") or found
        return found

    def _follow(self, run_id: str, heard: Callable[[str, Mapping[str, Any]], None] | None = None) -> None:
        """Read the run's events, at any replica, to the end; look at it meanwhile."""
        seen: list[list[Any]] = []
        whole, ends = False, time.monotonic() + FOLLOW_SECONDS
        while not whole and time.monotonic() < ends:
            try:
                with self._any().runs.attach(run_id, after=seen[-1][0] if seen else 0) as stream:
                    for event in stream:
                        seen.append([event.id, event.type, digest(dict(event.payload))])
                        whole = event.type == "run.ended"
                        if heard is not None:
                            heard(event.type, event.payload)
                        elif self._rng.random() < 0.3:
                            self.look(run_id)
            except StefanBrainError:
                time.sleep(0.5)
        self._history.note("stream", run_id=run_id, events=seen, whole=whole)

    def look(self, run_id: str) -> None:
        begun = self._history.now()
        with contextlib.suppress(APIConnectionError):
            try:
                status = self._any().runs.get(run_id).status
            except StefanBrainError as error:
                status = "missing" if error.code == "run_not_found" else ""
            if status:
                self._history.note("read", run_id=run_id, begun=begun, status=status)

    def _any(self, group: str = "wallet") -> AgentService:
        """The proxy mostly, or a replica."""
        address = self._rng.choice([self._addresses[0]] * 3 + self._addresses[1:])
        return self._clients[group, address]

    def _next_token(self) -> str:
        self._count += 1
        return f"{self._name}x{self._count}"

    def _once(self, call: Callable[[], Mapping[str, Any] | None]) -> Fact:
        """How a call that is not to be sent twice went."""
        try:
            return {"outcome": "ok", **(call() or {})}
        except APIConnectionError as error:
            return {"outcome": "unknown" if error.sent else "refused", "code": None, "why": str(error)[:200]}
        except StefanBrainError as error:
            unknown = error.code != "workspace_busy" and (error.status or 500) >= 500
            return {"outcome": "unknown" if unknown else "refused", "code": error.code, "why": str(error)[:200]}

    def _again(self, call: Callable[[], Any]) -> Fact:
        """How a call went that may be sent again until there is an answer."""
        ends = time.monotonic() + AGAIN_SECONDS
        while True:
            try:
                found = call()
                return {"outcome": "ok", **(found if isinstance(found, dict) else {"status": found})}
            except StefanBrainError as error:
                code, passing = error.code, error.code in PASSING or (error.status or 500) >= 500
                if not passing or time.monotonic() > ends:
                    return {"outcome": "unknown" if passing else "refused", "code": code, "why": str(error)[:200]}
            time.sleep(0.3)
