"""The document's example bodies, which the page of the API offers to send, are accepted by a real service."""

from __future__ import annotations

import json

import httpx
import pytest

from agentsvc_nb.service.http import openapi
from agentsvc_nb.wire.routes import ROUTES, Route
from tests.service.api.seeding import Seeded, waiting_call

DOCUMENT = json.loads(openapi.text())
WITH_BODY = [name for name, route in ROUTES.items() if route.body is not None and route.access == "key"]


@pytest.mark.parametrize("name", WITH_BODY)
def test_the_example_of_a_body_is_accepted(seeded: Seeded, name: str) -> None:
    route = ROUTES[name]
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    answer = httpx.request(
        route.method,
        seeded.service.base_url + _path(seeded, route),
        headers={"Authorization": f"Bearer {seeded.service.api_key}"},
        params={
            each.name: each.example or _known(seeded, each.place, each.name)
            for each in route.parameters
            if each.place == "query" and each.required
        },
        json=operation["requestBody"]["content"]["application/json"]["example"],
    )
    assert answer.is_success, answer.text


def _path(seeded: Seeded, route: Route) -> str:
    values = {each.name: _known(seeded, each.place, each.name) for each in route.parameters if each.place == "path"}
    if route.operation_id == "answerRuns":
        values |= {name.removeprefix("path."): given[0] for name, given in waiting_call(seeded.service).items()}
    if route.operation_id == "resumeRuns":
        values["run_id"] = seeded.failed_runs[0]
    return route.path.format_map(values)


def _known(seeded: Seeded, place: str, name: str) -> str:
    return seeded.known[f"{place}.{name}"][0]
