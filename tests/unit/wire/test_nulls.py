"""`null` in a field of an answer that may be missing is as if it were."""

from __future__ import annotations

import inspect
import json
from typing import Any, Final

import pytest
from pydantic import ValidationError

from agentsvc_nb.wire import files, resources, runs, tools
from agentsvc_nb.wire.models import Model, build

MODELS: Final = sorted(
    {
        kind
        for module in (files, resources, runs, tools)
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Model) and kind is not Model
    },
    key=lambda kind: kind.__name__,
)
VALUES: Final[dict[Any, Any]] = {int: 1, float: 1.5, bool: True}


def least(model: type[Model]) -> dict[str, Any]:
    """What its answer has at least."""
    build(model)
    return {
        name: VALUES.get(field.annotation, "x") for name, field in model.model_fields.items() if field.is_required()
    }


def test_null_is_as_if_the_field_were_not_there() -> None:
    for model in MODELS:
        given = least(model)
        optional = {name: None for name, field in model.model_fields.items() if not field.is_required()}
        assert model.read(json.dumps(given | optional)) == model.read(json.dumps(given)), model


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"run_id": None, "status": "x", "steps": None}, {("run_id",), ("steps",)}),
        ({"run_id": "r", "status": "x", "steps": None, "usage": []}, {("usage",)}),
        ({"run_id": "r", "status": "x", "client_tools": [None]}, {("client_tools", 0)}),
    ],
    ids=["required", "beside another error", "in a list"],
)
def test_what_can_still_not_be_read_is_named(given: dict[str, Any], named: set[tuple[Any, ...]]) -> None:
    with pytest.raises(ValidationError) as caught:
        runs.Run.read(json.dumps(given))
    assert {detail["loc"] for detail in caught.value.errors()} == named
