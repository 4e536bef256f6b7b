"""The OpenAPI document: valid, whole, and with the ids that the API has. What it says is tried by
`tests/nightly/api/test_openapi.py`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from agentsvc_nb.service.http import openapi
from agentsvc_nb.wire.codes import CODES
from agentsvc_nb.wire.routes import ROUTES

Json = dict[str, Any]
DOCUMENT: Json = json.loads(openapi.text())


def operation(name: str) -> Json:
    found: Json = DOCUMENT["paths"][ROUTES[name].path][ROUTES[name].method.lower()]
    return found


@pytest.mark.rule("The machine-readable description is valid OpenAPI 3.1, version 1.0.0.")
def test_the_document_is_valid_openapi_3_1_of_version_1_0_0() -> None:
    validate(DOCUMENT, cls=OpenAPIV31SpecValidator)
    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"]["version"] == "1.0.0"


@pytest.mark.rule("The description has each route once, under its own operation id.")
def test_every_route_is_in_it_once_under_its_own_id() -> None:
    found = [each["operationId"] for path in DOCUMENT["paths"].values() for each in path.values()]
    assert sorted(found) == sorted(route.operation_id for route in ROUTES.values())
    assert len(set(found)) == len(found)
    assert {route.tag for route in ROUTES.values()} == {tag["name"] for tag in DOCUMENT["tags"]}


def listed(name: str) -> set[str]:
    return {code for found in ROUTES[name].errors_by_status().values() for code in found}


@pytest.mark.rule("The description lists every error code of every route.")
def test_every_code_that_is_answered_can_come_from_somewhere_and_no_other() -> None:
    mcp = {"request_too_large"}  # of an endpoint that is no operation (docs/mcp.md)
    assert mcp.union(*map(listed, ROUTES)) == {row.code for row in CODES.values() if not row.unreached}


def test_what_is_optional_may_be_null_and_unknown_fields_are_let_through() -> None:
    for route in ROUTES.values():
        if route.body is not None:
            schema = DOCUMENT["components"]["schemas"][route.body.__name__]
            assert schema.get("additionalProperties", True) is True
            for name in schema["properties"].keys() - set(schema.get("required", [])):
                assert {"type": "null"} in schema["properties"][name]["anyOf"], name
