"""What must be true of eight minutes in which clients did all that they do, whatever was killed, frozen or cut off."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from tests.nightly.cluster.load import BUDGET_CENTS, PLAN_POOL_CENTS, Fact, History, run

pytestmark = [
    pytest.mark.timeout(1500),
    pytest.mark.rule("Under load and faults, no acknowledged work is lost or doubled, and every cent agrees."),
]
SECONDS = 480
MICROCENTS = 1_000_000


@pytest.fixture(scope="module")
def history(seed: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    found = History()
    try:
        run(found, SECONDS, seed)
        yield found
    finally:
        found.write(tmp_path_factory.mktemp("cluster") / "history.jsonl")


def standing(events: list[Fact]) -> list[Fact]:
    """The events that still count: `run.resumed` takes those since the checkpoint back (docs/api/events.md)."""
    found: list[Fact] = []
    for event in events:
        if event["type"] == "run.resumed":
            found = [each for each in found if each["id"] <= event["payload"]["discard_after"]]
        found.append(event)
    return found


def test_nothing_accepted_is_lost(history: History) -> None:
    for start in history.of("start", outcome="ok"):
        assert history.runs[start["id"]]["message"].split()[1] == start["token"]
    stored = {row["job_id"] for row in history.of("stored_job")}
    assert {job["id"] for job in history.of("job", outcome="ok")} <= stored
    for upload in history.of("upload", outcome="ok"):
        assert upload["found"] == upload["sha256"]
        assert upload["path"] in upload["searched"]


def test_a_start_is_one_run_and_a_refused_one_none(history: History) -> None:
    """With a key, each time it is sent; without one, whether an answer came or not."""
    runs = Counter(stored["message"].split()[1] for stored in history.runs.values())
    assert {token: count for token, count in runs.items() if count > 1} == {}
    refused = history.of("start", outcome="refused", key=None)
    assert [start for start in refused if start["token"] in runs] == []


def test_events_are_dense_and_end_once_and_streams_are_what_is_stored(history: History) -> None:
    for run_id, row in history.runs.items():
        events = history.events[run_id]
        assert [event["id"] for event in events] == list(range(1, row["last_event"] + 1)), run_id
        ends = [event["id"] for event in events if event["type"] == "run.ended"]
        assert ends == [row["last_event"]], run_id
    for stream in history.of("stream"):
        stored = [[event["id"], event["type"], event["payload"]] for event in history.events[stream["run_id"]]]
        assert stream["events"] == (stored if stream["whole"] else stored[: len(stream["events"])])


def test_a_run_does_what_its_script_says_at_its_price(history: History) -> None:
    for start in history.of("start", outcome="ok"):
        stored, script = history.runs[start["id"]], start["script"]
        if stored["last_error"] == "limit_reached" and start["group"] != "wallet":
            continue
        assert stored["status"] == script.ends, stored
        if script.ends == "completed":
            texts = [e["payload"]["text"] for e in standing(history.events[start["id"]]) if e["type"] == "text.delta"]
            assert "".join(texts).removesuffix("\n") == stored["output"] == script.said
            assert stored["cost_microcents"] == script.costs, stored


def test_what_a_replica_answers_after_the_end_is_what_is_stored(history: History) -> None:
    for read in history.of("read"):
        stored = history.runs[read["run_id"]]
        assert (read["status"], read["output"]) == (stored["status"], stored["output"])


def test_a_chat_has_one_turn_at_a_time(history: History) -> None:
    for look in history.of("look"):
        counts = Counter(row["chat"] for row in look["active"])
        assert max(counts.values(), default=0) <= 1, look


def test_a_mail_is_sent_once_and_a_refused_one_never(history: History) -> None:
    sent = Counter(mail["token"] for mail in history.of("mail"))
    assert {token: count for token, count in sent.items() if count > 1} == {}
    verdicts: dict[str, bool] = {}
    for verdict in history.of("verdict", outcome="ok"):
        assert verdicts.setdefault(verdict["call_id"], verdict["approved"]) == verdict["approved"]
        assert verdict["approved"] or not sent[verdict["token"]]
    for start in history.of("start", outcome="ok"):
        results = [
            event["payload"] for event in standing(history.events[start["id"]]) if event["type"] == "tool.result"
        ]
        assert sent[start["token"]] or all(result["is_error"] for result in results), start


def test_the_effect_of_a_job_is_there_once(history: History) -> None:
    """Each line of the log has a key, by which a receiver knows a repetition. A job has one key, and has written it at
    most once an attempt."""
    written: defaultdict[str, list[str]] = defaultdict(list)
    for effect in history.of("effect"):
        written[effect["token"]].append(effect["key"])
    rows = {row["job_id"]: row for row in history.of("stored_job")}
    for job in history.of("job", outcome="ok"):
        row, keys = rows[job["id"]], written[job["token"]]
        assert (row["status"], len(set(keys))) == ("succeeded", 1), row
        assert len(keys) <= row["attempt"]


def test_each_micro_cent_is_billed_and_limits_are_crossed_by_one_call_at_most(history: History) -> None:
    billed, used, spent, pools = Counter[Any](), Counter[Any](), Counter[Any](), Counter[Any]()
    for line in history.of("usage"):
        billed[line["key_id"], line["pool"]] += line["microcents"]
        spent[line["key_id"]] += line["microcents"]
        pools[line["pool"], line["account"], line["month"]] += line["microcents"]
    for stored in history.runs.values():
        used[stored["key_id"], stored["pool"]] += stored["cost_microcents"]
    assert +billed == +used
    for key in history.of("key", name="budget"):
        assert 0 < spent[key["id"]] <= (BUDGET_CENTS + 1) * MICROCENTS
    assert all(of <= (PLAN_POOL_CENTS + 1) * MICROCENTS for (pool, *_), of in pools.items() if pool == "plan")
