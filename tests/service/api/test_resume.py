"""A run that goes on where another failed (docs/api/runs.md "Resume")."""

from __future__ import annotations

import uuid
from typing import Any, Final

import httpx
import pytest

from tests.service.api.conftest import Wire, code
from tests.support.waiting import until

pytestmark = pytest.mark.rule("A new run resumes a failed one from its checkpoint and repeats no ended call.")

AWAY: Final = "fail model_unavailable Away."


def resume(wire: Wire, run: dict[str, Any], key: str | None = None, **limits: Any) -> httpx.Response:
    body = {"json": limits} if limits else {}
    return wire("POST", f"/runs/{run['run_id']}/resume", headers={"Idempotency-Key": key} if key else None, **body)


def ended(wire: Wire, run: dict[str, Any]) -> dict[str, Any]:
    return until(lambda: wire("GET", f"/runs/{run['run_id']}").json(), lambda found: found["ended_at"])


def resumed(wire: Wire, run: dict[str, Any], **limits: Any) -> dict[str, Any]:
    answer = resume(wire, run, **limits)
    assert answer.status_code == 202, answer.text
    assert answer.json()["status"] == "queued"
    return ended(wire, answer.json())


def payloads(wire: Wire, run: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event["payload"] for event in wire.events(run["run_id"]) if event["type"] == kind]


def said(wire: Wire, run: dict[str, Any]) -> str:
    return "".join(payload["text"] for payload in payloads(wire, run, "text.delta"))


def test_a_run_goes_on_from_its_last_checkpoint(wire: Wire) -> None:
    old = wire.finish("say one\nusage 5 0\nstep 1\nsay two\nusage 7 0\nstep 1\nsay three", max_steps=2)
    assert (old["last_error"], old["output"], old["resumed_from"]) == ("limit_reached", "one\ntwo", None)
    new = resumed(wire, old)
    assert (new["status"], new["output"], new["resumed_from"]) == ("completed", "one\ntwo\nthree", old["run_id"])
    assert said(wire, new) == "one\ntwo\nthree\n", "its events have the whole text, too"
    assert (new["chat"], new["model"], new["run_id"] != old["run_id"]) == (old["chat"], old["model"], True)
    assert ended(wire, old) == old, "what has ended never changes"


def test_a_call_that_had_ended_is_not_made_again(wire: Wire) -> None:
    script = 'say x\nstep 1\ncall echo_job {"steps": 1}\n' + AWAY
    old = wire.finish(script)
    new = resumed(wire, old)
    calls = [payloads(wire, run, "tool.call") for run in (old, new)]
    assert calls[0] == calls[1], "the same call, under its id"
    assert payloads(wire, new, "tool.result") == payloads(wire, old, "tool.result")
    assert len(payloads(wire, old, "job.submitted")) == 1
    assert payloads(wire, new, "job.submitted") == []
    third = resumed(wire, new)
    assert payloads(wire, third, "tool.call") == calls[0], "nor after the second time"


def test_a_key_gives_the_same_run(wire: Wire) -> None:
    old, key = wire.finish(AWAY), uuid.uuid4().hex
    first = resume(wire, old, key)
    done = ended(wire, first.json())
    again = resume(wire, old, key)
    assert (first.status_code, again.status_code, again.json()) == (202, 200, done)
    assert code(resume(wire, old)) == "run_not_resumable"
    other = resume(wire, done, key)
    assert (other.status_code, other.json()["resumed_from"]) == (202, done["run_id"]), "a key counts for one run"


@pytest.mark.parametrize("script", ["say x", "fail budget_limited x"])
def test_what_would_fail_again_is_not_resumed(script: str, wire: Wire) -> None:
    run = wire.finish(script)
    answer = resume(wire, run)
    assert (answer.status_code, code(answer)) == (409, "run_not_resumable")
    assert wire("GET", f"/runs/{run['run_id']}").json() == run


def test_a_run_is_resumed_after_another_turn_but_not_during_one(wire: Wire) -> None:
    old = wire.finish("say one\nstep 1\nsay two", max_steps=1)
    later = wire.start("wait 60", chat=old["chat"])
    busy = resume(wire, old)
    assert (code(busy), busy.json()["activeRunId"]) == ("agent_run_rejected", later["run_id"])
    wire("POST", f"/runs/{later['run_id']}/cancel")
    ended(wire, later)
    new = resumed(wire, old)
    assert (new["status"], new["output"], new["resumed_from"]) == ("completed", "one\ntwo", old["run_id"])
