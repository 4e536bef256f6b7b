"""`answer.basis`, over the real service (docs/api/models.md "What an answer rests on")."""

from __future__ import annotations

import json

import pytest

from agentsvc_nb.testing import RunningService
from tests.service.api.conftest import Wire, page, signed_in
from tests.service.api.service_fixture import ServiceFixture
from tests.support.waiting import until

TABLE = b"product,price\nTent,249\nMug,14\n"
QUESTION = "What is the total price?"
LONG = f"{QUESTION} What is the average price? Which product has the highest price? Where is the mug?"
BASIS = {
    "basis": "computed",
    "headline": "Total price: 263",
    "values": ["263"],
    "numbers": [],
    "number_counts": {},
}


@pytest.fixture
def priced(offline_service: RunningService, stage: ServiceFixture) -> Wire:
    return stage.open(offline_service)


def chat_with_table(wire: Wire) -> str:
    given = {"payload": json.dumps({"message": "Hello", "sync": True})}
    chat: str = wire("POST", "/runs", data=given, files={"file": ("prices.csv", TABLE)}).json()["chat"]
    return chat


def test_it_is_told_between_the_text_and_the_end_and_kept_in_the_record(priced: Wire) -> None:
    run = priced.finish(QUESTION, chat=chat_with_table(priced))
    events = priced.events(run["run_id"])
    assert [event["type"] for event in events][-4:] == ["text.delta", "answer.basis", "run.status", "run.ended"]
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    assert events[-3]["payload"] == BASIS
    assert events[-1]["payload"]["run"]["basis"] == BASIS
    assert run["basis"] == BASIS
    assert priced("GET", f"/runs/{run['run_id']}").json()["basis"] == BASIS
    assert "**Total price: 263**" in run["output"]


def test_a_resumed_run_says_it_anew(offline_service: RunningService, priced: Wire) -> None:
    run_id = priced.start(LONG, chat=chat_with_table(priced))["run_id"]
    until(lambda: types(priced, run_id).count("step.started") > 1)
    offline_service.kill()
    offline_service.start()
    until(lambda: types(priced, run_id)[-1] == "run.ended")
    events = priced.events(run_id)
    assert "run.resumed" in types(priced, run_id)
    [told] = [event["payload"] for event in events if event["type"] == "answer.basis"]
    assert told == {**BASIS, "values": ["263", "131.5", "Tent"]}
    assert events[-1]["payload"]["run"]["basis"] == told


def types(wire: Wire, run_id: str) -> list[str]:
    return [event["type"] for event in wire.events(run_id)]


def test_the_page_says_that_an_answer_was_not_computed(service: RunningService, wire: Wire) -> None:
    computed = wire.finish("say 7")
    run = wire.finish('say 7\nbasis {"basis": "not_computed"}')
    with signed_in(service) as browser:
        assert "This model has no tools." in page(browser, f"/app/chats/{run['chat']}")
        assert "Not computed" not in page(browser, f"/app/chats/{computed['chat']}")
