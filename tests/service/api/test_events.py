"""Run events: pages, the stream, and who reads it (docs/api/events.md, docs/api/conventions.md)."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.service.api.conftest import Wire, code
from tests.support.waiting import until


def stream(wire: Wire, run_id: str, **options: Any) -> list[dict[str, Any]]:
    """Every event that the stream sends until it closes; checks the frames on the way."""
    headers = {"Accept": "text/event-stream", **options.pop("headers", {})}
    with wire.http.stream("GET", f"/api/developers/v1/runs/{run_id}/events", headers=headers, **options) as answer:
        assert answer.status_code == 200
        frames = "".join(answer.iter_text()).split("\n\n")
    assert frames[0] == "retry: 1000"
    found = []
    for frame in frames[1:]:
        lines = dict(line.split(": ", 1) for line in frame.splitlines() if not line.startswith(":"))
        if lines:
            event = json.loads(lines["data"])
            assert (lines["id"], lines["event"]) == (str(event["id"]), event["type"])
            found.append(event)
    return found


@pytest.mark.rule("Event ids count from 1, and `run.ended` comes last with the record.")
def test_the_events_of_a_run_from_queued_to_ended(wire: Wire) -> None:
    run = wire.finish("say a\nwrite out/n.txt hi\nprogress 1 2 half\nstep 1\nsay b")
    events = wire.events(run["run_id"])
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    types = "run.status run.status step.started text.delta file.written progress step.started text.delta run.status"
    assert [event["type"] for event in events] == [*types.split(), "run.ended"]
    statuses = [event["payload"]["status"] for event in events if event["type"] == "run.status"]
    assert statuses == ["queued", "running", "completed"]
    assert events[4]["payload"]["path"] == "out/n.txt"
    assert events[5]["payload"] == {"done": 1, "total": 2, "message": "half"}
    assert events[-1]["payload"]["run"] == wire("GET", f"/runs/{run['run_id']}").json()


@pytest.mark.rule("`after` returns the next page of events, and `next_after` its cursor.")
def test_pages_carry_the_cursor_of_the_next(wire: Wire) -> None:
    run_id = wire.finish("say a\nstep 1\nsay b")["run_id"]
    first = wire("GET", f"/runs/{run_id}/events", params={"limit": 3}).json()
    assert (first["object"], first["next_after"], first["has_more"], first["status"]) == ("list", 3, True, "completed")
    rest = wire("GET", f"/runs/{run_id}/events", params={"after": 3}).json()
    assert [event["id"] for event in first["data"] + rest["data"]] == list(range(1, rest["next_after"] + 1))
    past = wire("GET", f"/runs/{run_id}/events", params={"after": 10_000}).json()
    assert (past["data"], past["next_after"], past["has_more"]) == ([], 10_000, False)


@pytest.mark.rule("A dropped stream resumes after `Last-Event-ID`.")
def test_a_dropped_stream_resumes_after_the_last_event(wire: Wire) -> None:
    """`Last-Event-ID` wins over `after`, and an empty one means the start."""
    run_id = wire.finish("say a")["run_id"]
    everything = wire.events(run_id)
    assert stream(wire, run_id, headers={"Last-Event-ID": "2"}) == everything[2:]
    assert stream(wire, run_id, params={"after": 2}) == everything[2:]
    assert stream(wire, run_id, headers={"Last-Event-ID": "1"}, params={"after": 3}) == everything[1:]
    assert stream(wire, run_id, headers={"Last-Event-ID": ""}, params={"after": 3}) == everything


@pytest.mark.rule("A malformed `Last-Event-ID` is a 400 and replays nothing.")
@pytest.mark.parametrize("junk", ["-1", str(2**63), "٣"])
def test_a_malformed_last_event_id_replays_nothing(wire: Wire, junk: str) -> None:
    run_id = wire.finish("say a")["run_id"]
    headers = {"Accept": "text/event-stream", "Last-Event-ID": junk.encode()}
    assert code(wire("GET", f"/runs/{run_id}/events", headers=headers)) == "invalid_last_event_id"


@pytest.mark.rule("Each follower of a run sees every event once, in order.")
def test_followers_that_stand_at_different_events_each_see_what_they_lack(wire: Wire) -> None:
    """They share reads where they stand at the same event."""
    run_id = wire.start("say a\nwait 0.1\n" + "progress 1 2\nwait 0.02\n" * 20)["run_id"]
    cursors = [0, 0, 2, 1, 3, 2] * 2
    with ThreadPoolExecutor(len(cursors)) as pool:
        followed = [pool.submit(stream, wire, run_id, params={"after": after}) for after in cursors]
    everything = wire.events(run_id)
    assert len(everything) > 20
    assert [future.result() for future in followed] == [everything[after:] for after in cursors]


def test_many_small_texts_become_few_events(wire: Wire) -> None:
    run_id = wire.finish("\n".join(f"say {number}" for number in range(500)))["run_id"]
    deltas = [event for event in wire.events(run_id) if event["type"] == "text.delta"]
    assert "".join(event["payload"]["text"] for event in deltas) == "".join(f"{number}\n" for number in range(500))
    assert len(deltas) < 100


@pytest.mark.rule("`run.resumed` takes back the text of a step that runs again.")
def test_a_rewind_takes_back_what_the_step_said(wire: Wire) -> None:
    run = wire.finish("say kept\nstep 1\nsay twice\nrewind\nsay end")
    assert run["output"] == "kept\ntwice\nend"
    events = wire.events(run["run_id"])
    resumed = next(event for event in events if event["type"] == "run.resumed")
    discard_after = resumed["payload"]["discard_after"]
    assert resumed["payload"]["attempt"] == 2
    counted = [
        event["payload"]["text"]
        for event in events
        if event["type"] == "text.delta" and not discard_after < event["id"] < resumed["id"]
    ]
    assert "".join(counted) == "kept\ntwice\nend\n"


@pytest.mark.rule("A cancelled run frees its chat; a cancel is safe to repeat.")
def test_a_running_run_is_cancelled_and_its_chat_is_free(wire: Wire) -> None:
    run = wire.start("say before\nwait 60\nsay never")
    until(lambda: any(event["type"] == "text.delta" for event in wire.events(run["run_id"])))
    answer = wire("POST", f"/runs/{run['run_id']}/cancel")
    assert answer.status_code == 200
    events = stream(wire, run["run_id"])
    ended = events[-1]["payload"]["run"]
    assert (ended["status"], ended["output"]) == ("cancelled", "before")
    statuses = [event["payload"]["status"] for event in events if event["type"] == "run.status"]
    assert statuses == ["queued", "running", "cancelling", "cancelled"]
    again = wire("POST", f"/runs/{run['run_id']}/cancel")
    assert (again.status_code, again.json()["status"]) == (200, "cancelled")
    assert wire.finish("say free", chat=run["chat"])["status"] == "completed"


def plan(*states: str) -> dict[str, Any]:
    return {"steps": [{"text": f"Part {number}", "state": state} for number, state in enumerate(states, 1)]}


def test_a_plan_is_an_event_of_its_own_that_a_resumed_run_begins_with(wire: Wire) -> None:
    first, then = plan("doing", "open"), plan("done", "doing")
    shown = [f"call plan {json.dumps(steps)}" for steps in (first, first, then)]
    script = f"{shown[0]}\n{shown[1]}\nstep 1\n{shown[2]}\nrewind\nstep 1\nfail model_unavailable Away."
    old = wire.finish(script)
    events = wire.events(old["run_id"])
    told = [event["payload"] for event in events if event["type"] == "plan.changed"]
    assert told == [first, then, then], "the same plan is told again only after it was taken back"
    assert {"tool.call", "tool.result"}.isdisjoint(event["type"] for event in events)
    new = wire("POST", f"/runs/{old['run_id']}/resume").json()["run_id"]
    until(lambda: wire("GET", f"/runs/{new}").json()["ended_at"])
    assert [event["payload"] for event in wire.events(new) if event["type"] == "plan.changed"] == [then]
    long = wire.finish(f"call plan {json.dumps(plan(*['open'] * 13))}")
    assert "plan.changed" not in [event["type"] for event in wire.events(long["run_id"])]


@pytest.mark.rule("Each event's payload has the fields of its type.")
def test_payloads_have_the_fields_of_their_type(wire: Wire) -> None:
    run = wire.finish('say a\nwrite a.txt x\nprogress 1 2 half\ncall echo_job {"steps": 0}\nrewind\nsay b')
    events = wire.events(run["run_id"])
    assert {frozenset(event) for event in events} == {frozenset(("id", "type", "created_at", "payload"))}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["created_at"]) for event in events)
    payloads = {event["type"]: set(event["payload"]) for event in events}
    assert payloads == {
        "run.status": {"status"},
        "step.started": {"step"},
        "text.delta": {"text"},
        "file.written": {"id", "path", "file_name", "media_type", "size_bytes", "version", "previous_version"},
        "progress": {"done", "total", "message"},
        "tool.call": {"call_id", "tool", "input"},
        "job.submitted": {"job_id", "family", "tool", "chat"},
        "tool.result": {"call_id", "tool", "is_error", "content"},
        "run.resumed": {"attempt", "discard_after"},
        "run.ended": {"run"},
    }
