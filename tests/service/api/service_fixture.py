"""What tests of every code and route share: services started on first use, and things made in them."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable
from typing import Any, Final, TypeVar

import httpx

from agentsvc_nb.service.accounts.accounts import ACCOUNT
from agentsvc_nb.service.files.file_records import Content
from agentsvc_nb.service.keyring import open_database
from agentsvc_nb.service.media import media_records
from agentsvc_nb.service.media.media import add_page as add_page
from agentsvc_nb.service.media.media_records import MediaFacts
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import run_records, standing
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import ROUTES
from agentsvc_nb.wire.runs import NewStandingApproval
from tests.service.api.conftest import Wire, signed_in
from tests.support.waiting import until

T = TypeVar("T")
STRICT: Final[dict[str, Any]] = {
    "run_capacity": 2,
    "wallet_cents": 3,
    "plan_pool_cents": 0,
    "max_file_bytes": 100_000,
    "models": "scripted,offline,openai-chat:none",
    "model_url": "http://127.0.0.1:1",
}
"""A service that refuses much; an account of one's own has not spent its three cents."""
DAILY: Final = {"day_cents": 5}
"""A service whose accounts have five cents a day."""
HURRIED: Final = {"rate_per_minute": 3, "rate_per_minute_user": 6, "gateway_seconds": 1}
HASTY: Final[dict[str, Any]] = {"sync_hold_seconds": 0.3, "ask_handle_seconds": 0, "upload_ttl_seconds": 0}
"""A service that gives handles at once."""
CAREFUL: Final = {"approve_effects": "yes", "metrics_token": "for-prometheus-alone"}
TRANSCRIPT = {"language": "en", "text": "Hello.", "segments": []}


def operate(service: RunningService, use: Callable[[Tx], T]) -> T:
    """Do in the database what the command line does beside a running service."""
    with open_database(service.folder) as database:
        return database.write_now(use)


class ServiceFixture:
    """One service without limits, and others by their settings; all end with the tests."""

    def __init__(self, service: RunningService, stack: contextlib.ExitStack) -> None:
        self.service = service
        self.stack = stack
        self._others: dict[str, RunningService] = {}
        self.wire = self.open(service)
        self.browser = Wire(stack.enter_context(signed_in(service)))

    def caller(self, name: str) -> Wire:
        """Who may call this route: the key, or the signed-in browser."""
        return self.browser if ROUTES[name].access == "session" else self.wire

    def open(self, service: RunningService, key: str | None = None) -> Wire:
        """Any service, with any key; "" for none."""
        key = service.api_key if key is None else key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        http = httpx.Client(base_url=service.base_url, headers=headers, timeout=60)
        return Wire(self.stack.enter_context(http))

    def other(self, **settings: Any) -> RunningService:
        """The service with these settings, the same one each time."""
        name = repr(settings)
        if name not in self._others:
            self._others[name] = self.stack.enter_context(running_service(**settings))
        return self._others[name]

    def keyed(self, **key: Any) -> Wire:
        """The service without limits, with a new key."""
        return self.open(self.service, self.service.create_key(**key))

    def account(self, service: RunningService, account: str = "", **key: Any) -> Wire:
        """A key of an account of its own, or of the given one: the row of a new key is moved there."""
        name, account = uuid.uuid4().hex, account or f"acct_{uuid.uuid4().hex}"
        secret = service.create_key(name=name, **key)
        wire = self.open(service, secret)
        move = "UPDATE api_key SET account = :account WHERE name = :name"
        assert operate(service, lambda tx: tx.run(move, account=account, name=name)) == 1
        wire.account, wire.key = account, secret
        return wire

    def page(self) -> str:
        """A new landing page."""
        url = f"https://example.com/{uuid.uuid4().hex}"
        return operate(self.service, lambda tx: add_page(tx, ACCOUNT, url, 0)).id

    def media(self) -> str:
        """A new video that has its transcript."""
        content = Content("film.mp4", "video/mp4", 1, "0" * 64)
        facts = MediaFacts("video", "test", transcript=TRANSCRIPT)
        return operate(self.service, lambda tx: media_records.insert(tx, ACCOUNT, content, facts, 0)).id

    def called(self) -> tuple[str, str]:
        """The ids of a run that has ended, and of a call of it, which needed no approval."""
        run_id = self.wire.finish('call echo_job {"steps": 0}')["run_id"]
        [call] = [event["payload"]["call_id"] for event in self.wire.events(run_id) if event["type"] == "tool.call"]
        return run_id, call

    def asked(self) -> tuple[str, str]:
        """The ids of a run, and of a call of it that waits for its caller."""
        tool = {"name": "look_up", "description": "Looks up.", "input_schema": {"type": "object"}, "effect": False}
        run_id = self.wire.start("call look_up {}", client_tools=[tool])["run_id"]
        events = until(lambda: self.wire.events(run_id), lambda found: found[-1]["type"] == "client_call.waiting")
        return run_id, events[-1]["payload"]["call_id"]

    def standing(self) -> str:
        """The id of a new standing approval."""
        run_id, given = self.wire.finish("say x")["run_id"], NewStandingApproval(lasts="hour")

        def use(tx: Tx) -> str:
            run = run_records.get(tx, run_id)
            assert run is not None
            return standing.add(tx, run, "echo_job", given, time.time_ns() // 1_000_000).id

        return operate(self.service, use)

    def job(self, **given: Any) -> dict[str, Any]:
        """A new job of `echo_job`."""
        document: dict[str, Any] = self.wire("POST", "/jobs", json={"tool": "echo_job", "input": given}).json()
        return document

    def ended(self, job: dict[str, Any]) -> dict[str, Any]:
        """See the job end."""
        path, look = f"/jobs/{job['job_id']}", {"chat": job["chat"]}
        return until(lambda: self.wire("GET", path, params=look).json(), lambda found: found["ended_at"])


def stop(wire: Wire, run: dict[str, Any]) -> None:
    """Cancel a run and see it end."""
    wire("POST", f"/runs/{run['run_id']}/cancel")
    until(lambda: wire("GET", f"/runs/{run['run_id']}").json()["ended_at"])
