"""`answer.basis`, over the real service (docs/api/models.md "What an answer rests on")."""

from __future__ import annotations

import json

import pytest

from agentsvc_nb.testing import RunningService
from tests.service.api.conftest import Opened, Wire
from tests.support.waiting import until

TABLE = b"product,price\nTent,249\nMug,14\n"
QUESTION = "What is the total price?"
LONG = f"{QUESTION} What is the average price? Which product has the highest price? Where is the mug?"
BASIS = {"basis": "computed", "headline": "Total price: 263", "values": ["263"]}


@pytest.fixture
def priced(offline_service: RunningService, opened: Opened) -> Wire:
    return opened(offline_service)


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


def test_what_needs_a_model_and_an_outline_have_their_own(priced: Wire) -> None:
    chat = chat_with_table(priced)
    for question, basis in (
        ("Write a slogan", "cannot"),
        ("Summarise prices.csv", "outline"),
        ("Who is Ada?", "nothing"),
    ):
        run = priced.finish(question, chat=chat)
        assert run["basis"] == {"basis": basis, "headline": None, "values": []}
    assert "Nothing found for: `Ada`" in run["output"]


def test_a_resumed_run_says_it_anew(offline_service: RunningService, opened: Opened) -> None:
    wire = opened(offline_service)
    run_id = wire.start(LONG, chat=chat_with_table(wire))["run_id"]
    until(lambda: types(wire, run_id).count("step.started") > 1)
    offline_service.kill()
    offline_service.start()
    until(lambda: types(wire, run_id)[-1] == "run.ended")
    events = wire.events(run_id)
    assert "run.resumed" in types(wire, run_id)
    [told] = [event["payload"] for event in events if event["type"] == "answer.basis"]
    assert told == {**BASIS, "values": ["263", "131.5", "Tent"]}
    assert events[-1]["payload"]["run"]["basis"] == told


def types(wire: Wire, run_id: str) -> list[str]:
    return [event["type"] for event in wire.events(run_id)]
