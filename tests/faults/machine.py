"""A Hypothesis state machine that drives the service over HTTP: start, keyed replay, cancel, finish, read, follow,
crash, next day.

It cannot predict the status of a run, because runs end by themselves. So it checks rules that are true at every moment
(`history.check_run`, and those named here). One process serves all examples; each example has sessions of its own.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import httpx
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from agentsvc_nb.wire.runs import TERMINAL
from tests.faults.crashing_server import CrashingServer
from tests.faults.history import Violation, check_run, check_turns, hold
from tests.support.waiting import until

SCRIPTS = {
    "quick": "say b",
    "stepped": "step 1\nsay b\nstep 1\nsay c",
    "rewound": "step 1\nsay b\nrewind\nsay c",
    "working": "say b\nwait 0.05\nstep 1\nsay c",
    "failing": "say b\nfail my_code no",
    "endless": "say b\nwait 3600",
}
PATIENCE_SECONDS = 30.0
IMPATIENCE_SECONDS = 4.0
"""How long to wait for a service with a mutant, in which a run may never end."""
_numbers = itertools.count()

chats = st.sampled_from([0, 0, 1])
keys = st.sampled_from([None, "k1", "k1", "k2"])


class ServiceStates(RuleBasedStateMachine):
    """The state machine, with two chats and two idempotency keys."""

    service: ClassVar[CrashingServer]
    ended: ClassVar[int]
    """How many runs ended in all examples together."""

    patience: ClassVar[float]
    once: ClassVar[bool]
    """If True, the first violation ends the search: for mutants, where one is enough."""

    def __init__(self) -> None:
        super().__init__()
        if self.once and Violation.found:
            raise Violation(Violation.found[0], "again")
        number = next(_numbers)
        self.sessions = [f"{number}-{chat}" for chat in range(2)]
        self.runs: dict[str, dict[str, Any]] = {}
        """The last known record of each run by id, with its session and script."""
        self.by_key: dict[tuple[str, int, str], str] = {}
        self.crashed = False

    @rule(chat=chats, key=keys, script=st.sampled_from(sorted(SCRIPTS)), at_once=st.sampled_from([1, 1, 1, 3]))
    def start(self, chat: int, key: str | None, script: str, at_once: int) -> None:
        session = self.sessions[chat]
        body = {"message": f"say {session}\n{SCRIPTS[script]}", "session": session}
        with ThreadPoolExecutor(at_once) as pool:
            sent = [pool.submit(self.service.post, "/runs", body, key) for _ in range(at_once)]
            for answer in [one.result() for one in sent]:
                self._started(answer, session, key, script)

    def _started(self, answer: httpx.Response, session: str, key: str | None, script: str) -> None:
        address = (session, self.service.days, key or "")
        known = self.by_key.get(address) if key else None
        document = answer.json()
        if known:
            hold("a key gives its run all day, whatever is busy", document.get("run_id") == known, document)
            hold("a replay is 202 until the end", (answer.status_code == 200) == (document["status"] in TERMINAL))
        elif answer.status_code == 409:
            busy = self.runs.get(document.get("activeRunId"))
            if busy is not None:  # None if it belongs to a start that is sent at the same time
                hold("what makes a chat busy is its own", busy["session"] == session, document)
                hold("what makes a chat busy is active", busy["status"] not in TERMINAL, busy)
        else:
            hold("a start is answered 202", answer.status_code == 202, document)
            hold("a new start is a new run", document["run_id"] not in self.runs, document)
            self.runs[document["run_id"]] = {**document, "session": session, "script": script}
            if key:
                self.by_key[address] = document["run_id"]

    @rule(chat=chats, start_again=st.booleans())
    def cancel(self, chat: int, start_again: bool) -> None:
        """Cancel the chat's last run, and perhaps start another at once, while the agent is still stopping."""
        for run in self._of(chat)[-1:]:
            answer = self.service.post(f"/runs/{run['run_id']}/cancel")
            hold("cancel is safe, always", answer.status_code == 200, answer.text)
            hold("a cancel leaves no run going on", answer.json()["status"] not in ("queued", "running"), answer.text)
            self._look(answer.json())
            if start_again:
                self.start(chat, None, "quick", 1)

    @rule(chat=chats)
    def finish(self, chat: int) -> None:
        for run in self._of(chat)[-1:]:
            if run["script"] == "endless":
                self.service.post(f"/runs/{run['run_id']}/cancel")
            self._await_end(run["run_id"])

    @rule(chat=chats, after=st.integers(0, 12), limit=st.integers(1, 12))
    def read(self, chat: int, after: int, limit: int) -> None:
        for run in self._of(chat)[-1:]:
            self._page(run["run_id"], after, limit)
            if run["script"] != "endless":
                self._follow(run["run_id"], after)

    def _page(self, run_id: str, after: int, limit: int) -> None:
        page = self.service.get(f"/runs/{run_id}/events", after=after, limit=limit)
        ids = [event["id"] for event in page["data"]]
        hold("a page goes on after its cursor", ids == list(range(after + 1, after + 1 + len(ids))), page)
        hold("a page has a next cursor", page["next_after"] == (ids[-1] if ids else after), page)

    def _follow(self, run_id: str, after: int) -> None:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        try:
            answer = self.service.http.get(f"/runs/{run_id}/events", headers=headers, timeout=self.patience)
        except httpx.ReadTimeout:
            raise Violation("nothing is stuck", run_id) from None
        ids = [int(line[4:]) for line in answer.text.splitlines() if line.startswith("id: ")]
        last = self.service.events(run_id)[-1]["id"]
        hold("a stream goes on after Last-Event-ID, to the end", ids == list(range(after + 1, last + 1)), ids)

    @rule(really=st.integers(0, 3), cancel_first=st.booleans())
    def crash(self, really: int, cancel_first: bool) -> None:
        """Kill and restart the service while a run is active. Rarely, and at most once per example, because a restart
        takes as long as a hundred requests."""
        if really == 0 and self._active() and not self.crashed:
            self.crashed = True
            if cancel_first:
                self.service.post(f"/runs/{self._active()[0]['run_id']}/cancel")
            self.service.kill()
            self.service.start()

    @rule()
    def next_day(self) -> None:
        self.service.next_day()

    @invariant()
    def every_run_is_right(self) -> None:
        for run in self._active():
            self._look(self.service.get(f"/runs/{run['run_id']}"))
        for chat in range(2):
            active = [run for run in self._of(chat) if run["status"] not in TERMINAL]
            hold("at most one active run in a chat", len(active) <= 1, active)

    def teardown(self) -> None:
        for run in list(self.runs.values()):
            if run["script"] == "endless":
                self.service.post(f"/runs/{run['run_id']}/cancel")
            self._await_end(run["run_id"])
        for run_id in list(self.runs):
            record = self.service.get(f"/runs/{run_id}")
            self._look(record)
            check_run(record, self.service.events(run_id))
        type(self).ended += len(self.runs)
        if self.runs:
            check_turns(self.service.data, {f"say {session}" for session in self.sessions})

    def _active(self) -> list[dict[str, Any]]:
        return [run for run in self.runs.values() if run["status"] not in TERMINAL]

    def _of(self, chat: int) -> list[dict[str, Any]]:
        return [run for run in self.runs.values() if run["session"] == self.sessions[chat]]

    def _look(self, record: dict[str, Any]) -> None:
        """Store the record of a run, after checking that an ended run did not change."""
        before = self.runs[record["run_id"]]
        if before["status"] in TERMINAL:
            hold("an ended run never changes", {**before, **record} == before, (before, record))
        before.update(record)

    def _await_end(self, run_id: str) -> None:
        try:
            path = f"/runs/{run_id}"
            record = until(lambda: self.service.get(path), lambda seen: seen["status"] in TERMINAL, self.patience)
        except AssertionError as late:
            raise Violation("nothing is stuck", late) from None
        self._look(record)


def machine_on(service: CrashingServer, *, once: bool = False) -> type[ServiceStates]:
    """The state machine for this service; `once` as in `ServiceStates`."""

    class OnService(ServiceStates):
        pass

    OnService.service, OnService.once, OnService.ended = service, once, 0
    OnService.patience = IMPATIENCE_SECONDS if once else PATIENCE_SECONDS
    return OnService
