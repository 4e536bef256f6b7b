"""Tools that the caller of a run executes: offering, calls, answers, waits (docs/api/client-tools.md)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire, code, signed_in
from tests.service.api.service_fixture import CAREFUL, HASTY, ServiceFixture, stop
from tests.support.waiting import until

ORDER: dict[str, Any] = {
    "name": "look_up",
    "description": "Looks up an order.",
    "input_schema": {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]},
    "effect": False,
}
SEND = {**ORDER, "name": "send_it", "effect": True}
CALL = 'call look_up {"order": 7}\nsay done'
TEXT: list[dict[str, Any]] = [{"type": "text", "text": "seven lamps"}]
ANSWER: dict[str, Any] = {"content": TEXT}


def of(wire: Wire, run: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event["payload"] for event in wire.events(run["run_id"], limit=1000) if event["type"] == kind]


def asked(wire: Wire, run: dict[str, Any], calls: int = 1) -> str:
    """The id of the call that was asked last, once so many were."""
    found = until(lambda: of(wire, run, "client_call.waiting"), lambda found: len(found) >= calls)
    call_id: str = found[-1]["call_id"]
    return call_id


def give(wire: Wire, run: dict[str, Any], call_id: str, body: Any = ANSWER) -> httpx.Response:
    return wire("POST", f"/runs/{run['run_id']}/calls/{call_id}/result", json=body)


def ended(wire: Wire, run: dict[str, Any]) -> dict[str, Any]:
    return until(lambda: wire("GET", f"/runs/{run['run_id']}").json(), lambda found: found["ended_at"])


def refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, code(answer)


@pytest.mark.rule("A client tool's call waits for the caller's answer, then the run continues.")
def test_a_call_is_told_asked_answered_and_goes_on(wire: Wire) -> None:
    run = wire.start(CALL, client_tools=[ORDER, SEND])
    assert run["client_tools"] == ["look_up", "send_it"]
    assert of(wire, run, "run.status")[0] == {"status": "queued", "client_tools": ["look_up", "send_it"]}
    call_id = asked(wire, run)
    shown = {"call_id": call_id, "tool": "look_up", "input": {"order": 7}}
    assert of(wire, run, "tool.call") == [{**shown, "client": True}]
    [waiting] = of(wire, run, "client_call.waiting")
    assert {**shown, "expires_at": waiting["expires_at"]} == waiting
    assert wire("GET", f"/runs/{run['run_id']}").json()["status"] == "running"
    answer = give(wire, run, call_id)
    accepted = {"object": "client_call", "run_id": run["run_id"], "accepted": True, "expires_at": None}
    assert (answer.status_code, answer.json()) == (200, {**accepted, "call_id": call_id})
    assert ended(wire, run)["output"] == "done"
    assert of(wire, run, "run.ended")[0]["run"]["client_tools"] == ["look_up", "send_it"]
    result = {"call_id": call_id, "tool": "look_up", "is_error": False, "content": TEXT}
    assert of(wire, run, "tool.result") == [result]


@pytest.mark.parametrize("given", [{"order": "seven"}, {"order": 7, "note": "x" * 256_000}], ids=["wrong", "large"])
def test_an_input_that_does_not_fit_is_never_asked(given: dict[str, Any], wire: Wire) -> None:
    run = ended(wire, wire.start(f"call look_up {json.dumps(given)}\nsay done", client_tools=[ORDER]))
    assert (run["output"], of(wire, run, "client_call.waiting")) == ("done", [])
    [result] = of(wire, run, "tool.result")
    assert result["is_error"] is True


def test_a_cancel_ends_the_wait_without_a_result(wire: Wire) -> None:
    run = wire.start(CALL, client_tools=[ORDER])
    call_id = asked(wire, run)
    stop(wire, run)
    assert ended(wire, run)["status"] == "cancelled"
    assert of(wire, run, "tool.result") == []
    for body in (ANSWER, {"pending": True}):
        assert refused(give(wire, run, call_id, body)) == (409, "call_not_waiting")


@pytest.fixture
def waiting(wire: Wire) -> Iterator[tuple[dict[str, Any], str]]:
    run = wire.start("write a.png x\n" + CALL, client_tools=[ORDER])
    yield run, asked(wire, run)
    stop(wire, run)


Waiting = tuple[dict[str, Any], str]


@pytest.mark.rule("Only the key that started the run answers its client tools.")
def test_only_the_key_that_started_the_run_answers(stage: ServiceFixture, waiting: Waiting, wire: Wire) -> None:
    run, call_id = waiting
    with signed_in(stage.service) as browser:
        for other in (stage.keyed(), stage.keyed(member=True), Wire(browser)):
            for body in (ANSWER, {"pending": True}):
                assert refused(give(other, run, call_id, body)) == (404, "call_not_found")
        path = f"{V1}/runs/{run['run_id']}/calls/{call_id}/result"
        elsewhere = browser.post(path, json=ANSWER, headers={"Origin": "http://elsewhere.example"})
        assert elsewhere.status_code == 401, "a page of another site does not learn who is signed in"
        browser.post("/app/sign-out")
        assert browser.post(path, json=ANSWER).status_code == 401


@pytest.fixture
def careful(stage: ServiceFixture) -> Wire:
    return stage.open(stage.other(**CAREFUL))


def verdict(wire: Wire, run: dict[str, Any], call_id: str, approved: bool = True, **more: Any) -> httpx.Response:
    return wire("POST", f"/runs/{run['run_id']}/calls/{call_id}/approval", json={"approved": approved, **more})


def test_one_with_an_effect_waits_for_approval_first(careful: Wire) -> None:
    wire = careful
    run = wire.start('call send_it {"order": 7}\nsay done', client_tools=[SEND])
    [requested] = until(lambda: of(wire, run, "approval.requested"))
    call_id = requested["call_id"]
    assert of(wire, run, "client_call.waiting") == []
    for body in (ANSWER, {"pending": True}):
        assert refused(give(wire, run, call_id, body)) == (409, "call_not_waiting")
    hour: dict[str, Any] = {"standing": {"lasts": "hour"}}
    assert refused(verdict(wire, run, call_id, **hour)) == (400, "invalid_approval"), "it may be another tool by then"
    assert refused(verdict(wire, run, call_id, input={"order": "x"})) == (400, "invalid_approval")
    assert verdict(wire, run, call_id, input={"order": 8}).status_code == 200
    assert asked(wire, run) == call_id
    assert of(wire, run, "client_call.waiting")[0]["input"] == {"order": 8}
    assert verdict(wire, run, call_id, input={"order": 8}).status_code == 200, "the same verdict once more"
    assert refused(verdict(wire, run, call_id, False)) == (409, "call_not_waiting")
    assert give(wire, run, call_id).status_code == 200
    assert ended(wire, run)["output"] == "done"


def test_a_resumed_run_has_them_and_asks_what_was_not_answered(wire: Wire) -> None:
    script = CALL + '\nstep 1\ncall look_up {"order": 8}\nfail model_unavailable Away.\nsay never'
    run = wire.start(script, client_tools=[ORDER])
    give(wire, run, asked(wire, run))
    give(wire, run, asked(wire, run, 2), {"content": []})
    assert ended(wire, run)["last_error"] == "model_unavailable"
    again = wire("POST", f"/runs/{run['run_id']}/resume", headers={"Idempotency-Key": uuid.uuid4().hex}).json()
    assert again["client_tools"] == ["look_up"]
    assert ended(wire, again)["last_error"] == "model_unavailable"
    assert of(wire, again, "client_call.waiting") == [], "both had their answers"
    assert [result["content"] for result in of(wire, again, "tool.result")] == [[]]


LARGE: dict[str, Any] = {"type": "object", "description": "x" * 60_000}
WRONG: dict[str, Any] = {
    "seventeen": [{**ORDER, "name": f"tool_{number}"} for number in range(17)],
    "two alike": [ORDER, ORDER],
    "of the catalog": [{**ORDER, "name": "create_images"}],
    "no effect": [{key: ORDER[key] for key in ORDER if key != "effect"}],
    "remote": [{**ORDER, "input_schema": {"type": "object", "$ref": "https://example.com/a.json"}}],
    "together over 64 KiB": [{**ORDER, "input_schema": LARGE}, {**SEND, "input_schema": LARGE}],
}


@pytest.mark.rule("A start takes at most 16 valid client tools, else it is `invalid_client_tool`.")
@pytest.mark.parametrize("tools", WRONG.values(), ids=WRONG)
def test_anything_else_is_refused(tools: Any, wire: Wire) -> None:
    answer = wire("POST", "/runs", json={"message": "say x", "client_tools": tools})
    assert refused(answer) == (400, "invalid_client_tool")
    assert answer.json()["error"]["field"].startswith("client_tools")


def test_an_agent_that_chooses_no_tools_says_so(offline_service: RunningService, stage: ServiceFixture) -> None:
    wire = stage.open(offline_service)
    run = ended(wire, wire.start("Hello?", client_tools=[ORDER]))
    assert [one["code"] for one in of(wire, run, "warning")] == ["client_tools_not_used"]


RIGHT: list[dict[str, Any]] = [
    {"content": [{"type": "json", "json": {"lamps": 7, "note": None, "price": 1.0}}]},
    {"content": TEXT, "data": {"a": None}, "is_error": False, "error": None},
    {"content": [{"type": "image", "path": "a.png", "media_type": "image/png"}]},
]


@pytest.mark.parametrize("body", RIGHT, ids=range(len(RIGHT)))
def test_answers_that_are_right(body: dict[str, Any], wire: Wire, waiting: Waiting) -> None:
    run, call_id = waiting
    assert give(wire, run, call_id, body).status_code == 200
    assert ended(wire, run)["output"] == "done"
    [result] = of(wire, run, "tool.result")
    assert (result["is_error"], result["content"]) == (False, body["content"])
    assert give(wire, run, call_id, body).json()["accepted"] is True, "the same once more, after the run's end"
    assert refused(give(wire, run, call_id, {"content": [*TEXT, *TEXT]})) == (409, "call_not_waiting")


def test_answers_that_are_wrong_leave_the_call_waiting(wire: Wire, waiting: Waiting) -> None:
    run, call_id = waiting
    for body in (
        {},
        {"content": [{"type": "text", "text": 7}]},
        {"content": [{"type": "image", "path": "none.png", "media_type": "image/png"}]},
        {"content": TEXT, "pending": True},
    ):
        assert refused(give(wire, run, call_id, body)) == (400, "invalid_call_result"), body
    assert give(wire, run, call_id).status_code == 200
    assert ended(wire, run)["output"] == "done"


@pytest.mark.rule("A client tool's wait and answer survive `kill -9`.")
def test_a_wait_and_an_answer_outlive_kill_9(stage: ServiceFixture) -> None:
    service = stage.other(**HASTY)
    wire = stage.account(service)
    waits, answered = (wire.start(CALL, client_tools=[ORDER]) for _ in "ab")
    first, other = asked(wire, waits), asked(wire, answered)
    assert give(wire, answered, other).status_code == 200
    service.kill()  # the answer was acknowledged, so it is stored
    service.start()
    assert asked(wire, waits, 2) == first
    times = [waiting["expires_at"] for waiting in of(wire, waits, "client_call.waiting")]
    assert times[0] < times[1]
    assert give(wire, answered, other).status_code == 200, "the same answer once more"
    give(wire, waits, first)
    assert [ended(wire, run)["output"] for run in (waits, answered)] == ["done"] * 2
    assert len(of(wire, answered, "client_call.waiting")) == 1
