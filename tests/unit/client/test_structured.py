"""Structured output: the schema that is sent, and the answer read into a shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, Field, field_validator

from agentsvc_nb.client import errors
from agentsvc_nb.client.models import Run
from tests.unit.client.conftest import RUN_ID, Networks, answer, failure, run


class Item(BaseModel):
    name: str
    price: float = Field(ge=0)


class Offer(BaseModel):
    items: list[Item]

    @field_validator("items")
    @classmethod
    def _any(cls, items: list[Item]) -> list[Item]:
        if not items:
            raise ValueError("an offer has items")
        return items


@dataclass
class Plain:
    name: str
    count: int = 0


class Tree(BaseModel):
    children: list[Tree] = []


def finished(data: dict[str, Any]) -> dict[str, Any]:
    return run("completed", structured_output=data, output="{}")


OFFER = {"items": [{"name": "lamp", "price": 12}]}


@pytest.mark.parametrize(
    ("shape", "given", "read"),
    [
        (Offer, OFFER, Offer(items=[Item(name="lamp", price=12)])),
        (Plain, {"name": "a"}, Plain("a")),
        ({"type": "object"}, {"x": 1}, {"x": 1}),
        (None, {"x": 1}, {"x": 1}),
    ],
)
def test_the_answer_is_read_into_the_shape_that_was_asked_for(
    network: Networks, shape: Any, given: dict[str, Any], read: Any
) -> None:
    net = network(answer(200, finished(given)))
    done = net.client.runs.start("go", sync=True, output_config=shape)
    assert done.data == read
    assert type(done.data) is type(read)
    sent = net.bodies[0].get("output_config")
    assert sent is None if shape is None else sent["type"] == "object"


def test_the_schema_that_is_sent(network: Networks) -> None:
    net = network(answer(202, run()))
    net.client.runs.start("go", output_config=Plain)
    count = {"default": 0, "title": "Count", "type": "integer"}
    assert net.bodies[0]["output_config"] == {
        "title": "Plain",
        "type": "object",
        "properties": {"name": {"title": "Name", "type": "string"}, "count": count},
        "required": ["name"],
    }


def first_name(run: Run[Any]) -> Any:
    assert run.data is not None
    return run.data.items[0].name


def test_streams_waits_and_later_starts_keep_the_shape(network: Networks) -> None:
    done = answer(200, finished(OFFER))
    stream = network(answer(202, run()), done).client.runs.start_and_stream("go", output_config=Offer)
    stream.close()
    assert first_name(stream.final_status()) == "lamp"
    net = network(answer(202, run()), done, done)
    started = net.client.runs.start("go", output_config=Offer)
    assert first_name(net.client.runs.wait(started)) == "lamp"
    assert net.client.runs.wait(RUN_ID).data == OFFER
    busy = failure("agent_run_rejected", 409, top={"activeRunId": "other"})
    net = network(busy, answer(200, run("completed")), answer(202, finished(OFFER)))
    started = net.client.runs.start("go", chat="chat_1", on_busy="wait", output_config=Offer)
    assert first_name(started) == "lamp"


def test_a_run_that_is_read_anew_is_parsed(network: Networks) -> None:
    done = network(answer(200, finished(OFFER))).client.runs.get(RUN_ID)
    assert done.data == OFFER
    assert done.parse(Offer).items[0].price == 12


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"items": [{"name": "lamp", "price": -1}]}, r"items\.0\.price"),
        ({"items": []}, "an offer has items"),
        ({}, "items"),
    ],
)
def test_what_does_not_fit_is_named(data: dict[str, Any], said: str) -> None:
    with pytest.raises(errors.StefanBrainError, match=f"Offer: .*{said}"):
        Run(run_id=RUN_ID, status="completed", structured_output=data).parse(Offer)


def test_without_an_answer_there_is_no_data() -> None:
    failed = Run(run_id=RUN_ID, status="failed", last_error="model_required")
    assert failed.with_shape(Offer).data is None
    with pytest.raises(errors.StefanBrainError, match="model_required"):
        failed.parse(Offer)


@pytest.mark.parametrize("shape", [Tree, int, Callable])
def test_a_shape_that_no_answer_can_have_is_not_sent(network: Networks, shape: Any) -> None:
    net = network()
    error = net.error(lambda client: client.runs.start("go", output_config=shape))
    assert (error.code, net.requests) == ("invalid_output_config", [])
