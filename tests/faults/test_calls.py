"""kill -9 around a tool's effect: what was done is done once, what had ended is not asked again (docs/decisions/07)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.support.sampling import sampled
from tests.support.waiting import until

TOOLS = pytest.mark.parametrize("tool", sampled(["stamp", "post"], "post"))


def call(tool: str, dies: str | None = None) -> str:
    return f"call {tool} {json.dumps({'line': 'x', 'dies': dies})}"


def last_result(events: list[dict[str, Any]]) -> dict[str, Any]:
    payload: dict[str, Any] = next(event["payload"] for event in reversed(events) if event["type"] == "tool.result")
    return payload


@pytest.fixture
def service() -> Iterator[CrashingServer]:
    with crashing_server() as made:
        yield made


@pytest.mark.rule("After a crash, a call that may have had an effect is `outcome_unknown`.")
@TOOLS
@pytest.mark.parametrize(("dies", "stamps"), [("before", 0), ("after", 1)])
def test_what_may_have_had_an_effect_is_not_repeated(
    tool: str, dies: str, stamps: int, service: CrashingServer
) -> None:
    service.start()
    result = last_result(service.cut_off(call(tool, dies))[1])
    assert result["is_error"] is True
    assert "may have had an effect" in result["content"][0]["text"]
    assert len(service.stamps()) == stamps


@pytest.mark.rule("After a crash, a finished tool call is not made again.")
def test_a_call_that_had_ended_is_answered_with_its_result(service: CrashingServer) -> None:
    service.start("--point", "after calls.move 2")
    _, events = service.cut_off(call("stamp"))
    assert last_result(events)["content"] == [{"type": "text", "text": "stamped x"}]
    assert len(service.stamps()) == 1
    ids = {event["payload"]["call_id"] for event in events if event["type"] == "tool.call"}
    assert len(ids) == 1, "both attempts made the same call"


def test_a_call_without_an_effect_is_made_again_under_its_key(service: CrashingServer) -> None:
    service.start()
    assert last_result(service.cut_off(call("look", "after"))[1])["is_error"] is False
    first, second = service.stamps()
    assert first == second, "the key of the work is that of the first time"


def test_equal_calls_of_one_step_are_calls_of_their_own(service: CrashingServer) -> None:
    service.start("--point", "after calls.move 4")
    service.cut_off(call("stamp") + "\n" + call("stamp"))
    assert len(service.stamps()) == len(set(service.stamps())) == 2


def test_a_run_follows_the_job_that_it_had_submitted(service: CrashingServer) -> None:
    service.start("--point", "in jobs.finish 1")
    _, events = service.cut_off('call echo_job {"steps": 1}')
    assert last_result(events)["is_error"] is False
    jobs = [event["payload"]["job_id"] for event in events if event["type"] == "job.submitted"]
    assert len(jobs) == 2
    assert len(set(jobs)) == 1
    assert len((service.data / "effects.log").read_text().splitlines()) == 1


# -- calls of the caller's own tools -----------------------------------------------------------------------------------

LOOK_UP = {"name": "look_up", "description": "Looks up.", "input_schema": {"type": "object"}, "effect": True}
ANSWER = {"content": [{"type": "text", "text": "lamps"}]}


def waiting(service: CrashingServer, run_id: str) -> list[str]:
    events = service.events(run_id)
    return [event["payload"]["call_id"] for event in events if event["type"] == "client_call.waiting"]


@pytest.mark.rule("A client tool's answer is stored before it is acknowledged.")
@pytest.mark.parametrize(("moment", "asks"), [("in", 2), ("after", 1)])
def test_an_answer_of_the_caller_is_stored_before_it_is_acknowledged(
    moment: str, asks: int, service: CrashingServer
) -> None:
    service.start("--point", f"{moment} calls.answer 1")
    start = {"message": "call look_up {}\nsay done", "client_tools": [LOOK_UP]}
    run_id = service.post("/runs", start).json()["run_id"]
    [call_id] = until(lambda: waiting(service, run_id))
    path = f"/runs/{run_id}/calls/{call_id}/result"
    with pytest.raises(httpx.TransportError):
        service.post(path, ANSWER)
    service.see_it_die()
    service.start()
    if asks == 2:
        until(lambda: len(waiting(service, run_id)) == asks)
    assert service.post(path, ANSWER).json()["accepted"] is True
    service.ended(run_id)
    assert waiting(service, run_id) == [call_id] * asks, "what is answered is never asked again"
    assert last_result(service.events(run_id))["content"] == ANSWER["content"]
