"""The rules of a history find what is wrong in it: each is shown a sound history with one fault in it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.nightly.cluster import rules
from tests.nightly.cluster.disturbances import KINDS, planned
from tests.nightly.cluster.history import Fact, digest

RUN, OTHER, MAIL, JOB = "run-1", "run-2", "run-3", "job-1"


def event(run_id: str, number: int, kind: str, **payload: Any) -> Fact:
    row = {"run_id": run_id, "id": number, "type": kind, "payload": payload, "digest": digest(payload)}
    return {"kind": "stored", "t": 99, "table": "run_event", "row": row}


def stored(table: str, **row: Any) -> Fact:
    return {"kind": "stored", "t": 99, "table": table, "row": row}


def of_run(run_id: str, token: str, said: str, *more: tuple[str, dict[str, Any]]) -> Iterator[Fact]:
    """A run that was accepted, cut off, resumed, read, followed and completed."""
    told: list[tuple[str, dict[str, Any]]] = [
        ("run.status", {"status": "queued"}),
        ("text.delta", {"text": "half of it"}),
        ("run.resumed", {"attempt": 2, "discard_after": 1}),
        ("text.delta", {"text": f"{said}\n"}),
        *more,
        ("run.ended", {}),
    ]
    events = [event(run_id, number, kind, **payload) for number, (kind, payload) in enumerate(told, 1)]
    yield from events
    script = {"token": token, "said": said, "costs": 150_000, "ends": "completed"}
    known = {"key": f"key-{token}", "group": "wallet", "outcome": "ok", "run_id": run_id}
    yield {"kind": "start", "t": 1, "begun": 0.5, "chat": None, "status": "queued", "code": None, **script, **known}
    yield {"kind": "read", "t": 2, "begun": 1.5, "run_id": run_id, "status": "running"}
    yield {"kind": "read", "t": 9, "begun": 8.5, "run_id": run_id, "status": "completed"}
    seen = [[each["row"]["id"], each["row"]["type"], each["row"]["digest"]] for each in events]
    yield {"kind": "stream", "t": 9, "run_id": run_id, "events": seen, "whole": True}
    yield {"kind": "final", "t": 99, "run_id": run_id, "status": "completed", "output": said, "cost": 150_000}
    ends = {"status": "completed", "output": said, "last_error": None, "cost_microcents": 150_000}
    row = {"run_id": run_id, "chat": f"chat-of-{run_id}", "message": f"say {token}\nsay end", "last_event": len(told)}
    yield stored("run", key_id="key", pool="wallet", **ends, **row)


def sound() -> list[Fact]:
    sent = ("tool.result", {"tool": "send_email", "is_error": False, "call_id": "call"})
    held = {"what": "kill worker", "target": 0, "at": 3.0, "away": False, "held": {RUN: 1}}
    verdict = {"run_id": MAIL, "call_id": "call", "token": "m", "approved": True, "outcome": "ok"}
    of_month = {"account": "account", "month": "2026-11"}
    upload = {"token": "u", "chat": "chat", "path": "uploads/u.txt", "sha256": "abc"}
    return [
        *of_run(RUN, "a", "hello"),
        *of_run(OTHER, "b", "hello"),
        *of_run(MAIL, "m", "hello", sent),
        {"kind": "look", "t": 2, "active": [[RUN, f"chat-of-{RUN}", 1], [OTHER, f"chat-of-{OTHER}", 1]]},
        {"kind": "fault", "t": 3, **held},
        {"kind": "look", "t": 11, "active": [[RUN, f"chat-of-{RUN}", 2]]},
        {"kind": "verdict", "t": 5, **verdict},
        {"kind": "mail", "t": 99, "token": "m"},
        {"kind": "upload", "t": 5, "begun": 4, "outcome": "ok", **upload},
        {"kind": "found", "t": 99, "chat": "chat", "path": "uploads/u.txt", "sha256": "abc", "found": True},
        {"kind": "start", "t": 1, "begun": 0, "token": "r", "key": None, "outcome": "refused", "code": "busy"},
        {"kind": "job", "t": 5, "token": "j", "key": None, "outcome": "ok", "job_id": JOB},
        {"kind": "effect", "t": 99, "token": "j", "key": JOB},
        stored("job", job_id=JOB, tool="echo_job", status="succeeded", attempt=1, error=None, files=["j.txt"]),
        stored("job", job_id="job-2", tool="create_images", status="succeeded", attempt=2, error=None, files=["a.png"]),
        stored("usage", key_id="key", pool="wallet", kind="tokens", quantity=3, microcents=450_000),
        stored("usage", key_id="key", pool="wallet", kind="picture", quantity=1, microcents=1_000_000),
        {"kind": "limits", "t": 0, "plan_pool_cents": 5},
        stored("usage", key_id="member", pool="plan", kind="web_search", quantity=6, microcents=6_000_000, **of_month),
        stored("api_key", id="key", name="first", budget_cents=3),
    ]


def one(facts: list[Fact], kind: str, /, **fields: Any) -> Fact:
    """The first fact of the kind with these fields; of a stored one, of its row."""
    return next(
        each for each in facts if each["kind"] == kind and fields.items() <= {**each, **each.get("row", {})}.items()
    )


def rows(facts: list[Fact], table: str) -> list[Fact]:
    return [each for each in facts if each.get("table") == table]


def set_stored(facts: list[Fact], table: str, change: dict[str, Any], /, **fields: Any) -> None:
    row = next(each["row"] for each in rows(facts, table) if fields.items() <= each["row"].items())
    row.update(change)


def without(facts: list[Fact], kind: str, **fields: Any) -> None:
    facts.remove(one(facts, kind, **fields))


def again(facts: list[Fact], kind: str, change: dict[str, Any], **fields: Any) -> None:
    facts.append({**copy.deepcopy(one(facts, kind, **fields)), **change})


FAULTS: dict[str, tuple[str, Callable[[list[Fact]], None]]] = {
    "an accepted run is gone": ("nothing_accepted_is_lost", lambda h: without(h, "stored", table="run", run_id=RUN)),
    "an accepted run is another's": (
        "nothing_accepted_is_lost",
        lambda h: set_stored(h, "run", {"message": "say else"}, run_id=RUN),
    ),
    "an accepted job is gone": ("nothing_accepted_is_lost", lambda h: without(h, "stored", table="job", job_id=JOB)),
    "an upload is gone": ("nothing_accepted_is_lost", lambda h: without(h, "found")),
    "an upload is another": ("nothing_accepted_is_lost", lambda h: one(h, "found").update(sha256="abd")),
    "an upload is not found": ("nothing_accepted_is_lost", lambda h: one(h, "found").update(found=False)),
    "a refused start is there": (
        "nothing_refused_is_done",
        lambda h: one(h, "start", token="r").update(token="a"),
    ),
    "a start is two runs": (
        "a_start_is_one_run",
        lambda h: set_stored(h, "run", {"message": "say a\nsay end"}, run_id=OTHER),
    ),
    "a key has two answers": ("a_start_is_one_run", lambda h: again(h, "start", {"run_id": OTHER}, run_id=RUN)),
    "an event is lost": ("events_are_dense_and_end_once", lambda h: without(h, "stored", run_id=RUN, id=2)),
    "an event is there twice": ("events_are_dense_and_end_once", lambda h: again(h, "stored", {}, run_id=RUN, id=2)),
    "a run ends twice": (
        "events_are_dense_and_end_once",
        lambda h: set_stored(h, "run_event", {"type": "run.ended"}, run_id=RUN, id=4),
    ),
    "an attempt is not new": (
        "events_are_dense_and_end_once",
        lambda h: set_stored(
            h, "run_event", {"type": "run.resumed", "payload": {"attempt": 2, "discard_after": 1}}, run_id=RUN, id=4
        ),
    ),
    "a stream lacks an event": ("streams_are_the_stored_events", lambda h: one(h, "stream")["events"].pop(1)),
    "a stream has an event twice": (
        "streams_are_the_stored_events",
        lambda h: one(h, "stream")["events"].insert(1, one(h, "stream")["events"][0]),
    ),
    "a stream says something else": (
        "streams_are_the_stored_events",
        lambda h: one(h, "stream").update(events=[[1, "run.status", "other"]], whole=False),
    ),
    "a sound run fails": (
        "a_run_does_what_its_script_says",
        lambda h: set_stored(h, "run", {"status": "failed", "last_error": "agent_error"}, run_id=RUN),
    ),
    "an answer is half": (
        "a_run_does_what_its_script_says",
        lambda h: set_stored(h, "run", {"output": "hel"}, run_id=RUN),
    ),
    "discarded words count": (
        "a_run_does_what_its_script_says",
        lambda h: set_stored(h, "run_event", {"payload": {"attempt": 2, "discard_after": 2}}, run_id=RUN, id=3),
    ),
    "a run never ends": ("all_ends", lambda h: set_stored(h, "run", {"status": "running"}, run_id=RUN)),
    "an ended run goes on": (
        "what_was_read_was_true",
        lambda h: again(h, "read", {"t": 12, "begun": 11}, run_id=RUN, status="running"),
    ),
    "an accepted run is not found": (
        "what_was_read_was_true",
        lambda h: again(h, "read", {"status": "missing"}, run_id=RUN, status="running"),
    ),
    "a replica answers otherwise": ("what_was_read_was_true", lambda h: one(h, "final").update(cost=1)),
    "two turns at one moment": (
        "one_turn_a_chat",
        lambda h: one(h, "look", t=2)["active"].append([MAIL, f"chat-of-{RUN}", 1]),
    ),
    "two turns as clients saw": (
        "one_turn_a_chat",
        lambda h: set_stored(h, "run", {"chat": f"chat-of-{RUN}"}, run_id=OTHER),
    ),
    "a mail is sent twice": ("a_mail_is_sent_once", lambda h: again(h, "mail", {})),
    "a mail is not sent": ("a_mail_is_sent_once", lambda h: without(h, "mail")),
    "a refused mail is sent": ("a_mail_is_sent_once", lambda h: one(h, "verdict").update(approved=False)),
    "two verdicts count": ("a_mail_is_sent_once", lambda h: again(h, "verdict", {"approved": False})),
    "an effect is there twice": ("the_effect_of_a_job_is_there_once", lambda h: again(h, "effect", {})),
    "a job has two effects": ("the_effect_of_a_job_is_there_once", lambda h: again(h, "effect", {"key": "other"})),
    "a job has no effect": ("the_effect_of_a_job_is_there_once", lambda h: without(h, "effect")),
    "a cent too much": ("money_is_exact", lambda h: set_stored(h, "usage", {"microcents": 1_450_000}, kind="tokens")),
    "a cent too little": ("money_is_exact", lambda h: set_stored(h, "run", {"cost_microcents": 1_150_000}, run_id=RUN)),
    "a picture is billed twice": ("money_is_exact", lambda h: set_stored(h, "usage", {"quantity": 2}, kind="picture")),
    "a budget is overrun": ("money_is_exact", lambda h: set_stored(h, "api_key", {"budget_cents": -1}, id="key")),
    "a plan pool is overrun": (
        "the_plan_pool_is_not_overrun",
        lambda h: set_stored(h, "usage", {"microcents": 6_000_001}, kind="web_search"),
    ),
}  # fmt: skip


def test_a_sound_history_breaks_nothing() -> None:
    assert rules.check(sound()) == {}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    rule, plant = FAULTS[fault]
    history = sound()
    plant(history)
    assert rule in rules.check(history)


def test_each_rule_can_break() -> None:
    assert {rule.__name__ for rule in rules.RULES} == {rule for rule, _ in FAULTS.values()}


def test_how_long_a_run_of_a_dead_worker_waits() -> None:
    assert rules.resumed_after(sound()) == [("kill worker 0", RUN, 8.0)]
    away = {"kind": "fault", "t": 4, "what": "restart database", "target": 0, "away": True}
    assert rules.resumed_after([*sound(), away]) == []


def test_a_plan_is_of_its_seed_and_has_all_kinds() -> None:
    plan = planned(7, 60, 12, 5)
    assert plan == planned(7, 60, 12, 5)
    assert plan != planned(8, 60, 12, 5)
    assert {step.what for step in plan} == set(KINDS)
