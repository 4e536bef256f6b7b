"""A request with several faults is answered with the first of them (docs/api/conventions.md "Order of checks")."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import httpx
import pytest

from agentsvc_nb.service.accounts import account_records
from agentsvc_nb.service.accounts.accounts import ACCOUNT
from agentsvc_nb.testing import running_service
from tests.service.api.conftest import Wire, code
from tests.service.api.refused_for_now import PICTURE
from tests.service.api.service_fixture import ServiceFixture, operate

WHO: Final = ("unauthorized", "api_key_scope_forbidden", "user_suspended")
START: Final = (*WHO, "invalid_sync", "project_not_found", "api_key_budget_exhausted", "agent_run_rejected")
SUBMIT: Final = (*WHO, "invalid_tool_input", "project_not_found", "api_key_budget_exhausted", "idempotency_conflict")
ASK: Final = (*SUBMIT, "agent_run_rejected")


@dataclass(frozen=True)
class Troubled:
    """A service in which every fault can be had. `keys`: the secret that has the fault, "" for one that has none."""

    stage: ServiceFixture
    busy_chat: str
    used_key: str
    keys: dict[str, str]

    def send(self, faults: tuple[str, ...], path: str, body: dict[str, Any]) -> httpx.Response:
        """A request with these faults, of which `body` has its own."""
        held = next((self.keys[fault] for fault in faults if fault in self.keys), self.keys[""])
        headers = {"Idempotency-Key": self.used_key if "idempotency_conflict" in faults else uuid.uuid4().hex}
        where = {"chat": self.busy_chat, "project": "proj_unknown" if "project_not_found" in faults else None}
        with self._suspended("user_suspended" in faults):
            return self.stage.open(self.stage.service, held)("POST", path, json={**where, **body}, headers=headers)

    @contextlib.contextmanager
    def _suspended(self, suspended: bool) -> Iterator[None]:
        if suspended:
            operate(self.stage.service, lambda tx: account_records.set_state(tx, ACCOUNT, "suspended"))
        yield
        operate(self.stage.service, lambda tx: account_records.set_state(tx, ACCOUNT, "active"))


@pytest.fixture(scope="module")
def troubled() -> Iterator[Troubled]:
    with running_service() as service, contextlib.ExitStack() as stack:
        stage = ServiceFixture(service, stack)
        spent = service.create_key(budget_cents=1)
        run = stage.open(service, spent).start("wait 600")
        keys = {
            "": service.api_key,
            "unauthorized": "svc_sk_unknown",
            "api_key_scope_forbidden": service.create_key(scopes=("mcp",)),
            "api_key_budget_exhausted": spent,
        }
        yield Troubled(stage, run["chat"], _used_key(stage.wire), keys)


def _used_key(wire: Wire) -> str:
    """An Idempotency-Key that a submit and an ask used in another chat."""
    key = uuid.uuid4().hex
    for path, given in (("/jobs", PICTURE), ("/tools/ask_stefanbrain/invoke", {"message": "say x"})):
        body = {"tool": "create_images", "input": given, "chat": wire.new_chat()}
        assert wire("POST", path, json=body, headers={"Idempotency-Key": key}).is_success
    return key


def tails(steps: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [steps[first:] for first in range(len(steps))]


@pytest.mark.parametrize("faults", tails(START), ids=lambda faults: faults[0])
def test_a_start(faults: tuple[str, ...], troubled: Troubled) -> None:
    body = {"message": "say x", "sync": "yes" if "invalid_sync" in faults else True}
    assert code(troubled.send(faults, "/runs", body)) == faults[0]


@pytest.mark.parametrize("faults", tails(SUBMIT), ids=lambda faults: faults[0])
@pytest.mark.parametrize("path", ["/jobs", "/tools/create_images/invoke"])
def test_a_submit(faults: tuple[str, ...], path: str, troubled: Troubled) -> None:
    body = {"tool": "create_images", "input": {} if "invalid_tool_input" in faults else PICTURE}
    assert code(troubled.send(faults, path, body)) == faults[0]


@pytest.mark.parametrize("faults", tails(ASK), ids=lambda faults: faults[0])
def test_an_ask(faults: tuple[str, ...], troubled: Troubled) -> None:
    body = {"input": {} if "invalid_tool_input" in faults else {"message": "say x"}}
    assert code(troubled.send(faults, "/tools/ask_stefanbrain/invoke", body)) == faults[0]


def test_an_operators_word_comes_before_the_counts(troubled: Troubled) -> None:
    """Both are the step of rate limits; a suspended user is not told to come back in a minute."""
    service = troubled.stage.other(rate_per_day=0)
    operate(service, lambda tx: account_records.set_state(tx, ACCOUNT, "suspended"))
    answers = [troubled.stage.open(service)("POST", "/runs", content=b"{") for _ in range(2)]
    operate(service, lambda tx: account_records.set_state(tx, ACCOUNT, "active"))
    answers.append(troubled.stage.open(service)("POST", "/runs", content=b"{"))
    assert [code(answer) for answer in answers] == ["user_suspended", "user_suspended", "request_per_day"]


NO_RUN: Final = "/runs/00000000-0000-0000-0000-000000000000/events"


@pytest.mark.parametrize(
    ("method", "path", "options", "expected"),
    [
        ("POST", "/files?chat_id=chat_unknown", {"content": b"x"}, "invalid_multipart"),
        (
            "POST",
            "/files?chat_id=chat_unknown",
            {"data": {"a": "b"}, "files": {"files": ("", b"")}},
            "invalid_multipart",
        ),
        ("PATCH", "/files?chat_id=chat_unknown&path=a", {"json": {"name": 5}}, "invalid_json"),
        ("GET", "/files?chat_id=chat_unknown&limit=0", {}, "invalid_query"),
        ("GET", "/files/search?chat_id=chat_unknown", {}, "invalid_query"),
        ("GET", f"{NO_RUN}?limit=0", {}, "invalid_query"),
        ("GET", f"{NO_RUN}?after=x", {"headers": {"Accept": "text/event-stream"}}, "invalid_query"),
        (
            "GET",
            NO_RUN,
            {"headers": {"Accept": "text/event-stream", "Last-Event-ID": "x"}},
            "invalid_last_event_id",
        ),
        ("GET", "/jobs/job_unknown", {}, "invalid_query"),
        ("PUT", "/landing-pages/page_unknown/labels", {"json": {}}, "invalid_label"),
    ],
)
def test_what_is_wrong_comes_before_what_is_not_there(
    method: str, path: str, options: dict[str, Any], expected: str, stage: ServiceFixture
) -> None:
    answer = stage.wire(method, path, **options)
    assert (answer.status_code, code(answer)) == (400, expected)
