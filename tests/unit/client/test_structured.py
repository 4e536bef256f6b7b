"""Structured output: the schema that is sent, and the answer read into a shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, Field

from agentsvc_nb.client import errors
from agentsvc_nb.client.models import Run
from tests.unit.client.conftest import RUN_ID, Networks, answer, run


class Item(BaseModel):
    name: str
    price: float = Field(ge=0)


class Offer(BaseModel):
    items: list[Item]


@dataclass
class Plain:
    name: str
    count: int = 0


@pytest.mark.parametrize(
    ("shape", "given", "read"),
    [
        (Offer, {"items": [{"name": "lamp", "price": 12}]}, Offer(items=[Item(name="lamp", price=12)])),
        (Plain, {"name": "a"}, Plain("a")),
        ({"type": "object"}, {"x": 1}, {"x": 1}),
        (None, {"x": 1}, {"x": 1}),
    ],
)
def test_the_answer_is_read_into_the_shape_that_was_asked_for(
    network: Networks, shape: Any, given: dict[str, Any], read: Any
) -> None:
    net = network(answer(200, run("completed", structured_output=given, output="{}")))
    done = net.client.runs.start("go", sync=True, output_config=shape)
    assert done.data == read
    assert type(done.data) is type(read)
    sent = json.loads(net.requests[0].content).get("output_config")
    assert sent is None if shape is None else sent["type"] == "object"


@pytest.mark.rule("`output_config` takes a JSON Schema, a pydantic model or a dataclass.")
@pytest.mark.parametrize(
    ("data", "said"), [({"items": [{"name": "lamp", "price": -1}]}, r"items\.0\.price"), ({}, "items")]
)
def test_what_does_not_fit_is_named(data: dict[str, Any], said: str) -> None:
    with pytest.raises(errors.StefanBrainError, match=f"Offer: .*{said}"):
        Run(run_id=RUN_ID, status="completed", structured_output=data).parse(Offer)


@pytest.mark.parametrize("shape", [int, Callable])
def test_a_shape_that_no_answer_can_have_is_not_sent(network: Networks, shape: Any) -> None:
    net = network()
    error = net.error(lambda client: client.runs.start("go", output_config=shape))
    assert (error.code, net.requests) == ("invalid_output_config", [])
