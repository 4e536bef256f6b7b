"""Every row of `wire/routes.py`, over real HTTP (docs/api/conventions.md "Routes", docs/api/accounts.md "Scopes")."""

from __future__ import annotations

from typing import Final

import pytest

from agentsvc_nb.service.accounts.accounts import ACCOUNT
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.resources import SCOPES, Scope
from agentsvc_nb.wire.routes import ROUTES, Route
from tests.service.api.conftest import code
from tests.service.api.right_requests import FILLED, RIGHT
from tests.service.api.service_fixture import ServiceFixture, operate

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
BUILT: Final = list(ROUTES.values())
KEYED: Final = [route for route in BUILT if route.access == "key"]
OF_ONE_KEY: Final = "runs.answer"
"""For any other key of the account there is nothing to be answered."""
WITH_PARTS: Final = [route for route in BUILT if "{" in route.path]
PATHS: Final = sorted({route.path for route in BUILT})


def ids(route: Route) -> str:
    return route.name


def test_each_route_that_is_built_has_a_right_request() -> None:
    assert set(ROUTES) <= set(RIGHT)


@pytest.mark.parametrize("route", BUILT, ids=ids)
def test_a_right_request_is_answered(route: Route, stage: ServiceFixture) -> None:
    answer = RIGHT[route.name](stage).send(stage.caller(route.name), route.name)
    assert answer.is_success, answer.text
    assert answer.headers["x-request-id"].startswith("req_")
    if route.answer is not None:
        assert answer.headers["content-type"] == "application/json"
        assert not set(route.answer.model_fields) - set(answer.json()), "every field of the model is there"
        assert route.answer.model_validate_json(answer.text)


@pytest.mark.parametrize("route", KEYED, ids=ids)
def test_a_route_wants_a_key(route: Route, stage: ServiceFixture) -> None:
    right = RIGHT[route.name](stage)
    for secret in ("", "svc_sk_unknown", "svc_oat_unknown", stage.service.api_key[:-1]):
        answer = right.send(stage.open(stage.service, secret), route.name, params={}, content=b"{")
        assert (answer.status_code, code(answer)) == (401, "unauthorized")


@pytest.mark.parametrize("route", [route for route in BUILT if route.access == "session"], ids=ids)
def test_a_route_of_the_browser_wants_its_session_and_no_key(route: Route, stage: ServiceFixture) -> None:
    right = RIGHT[route.name](stage)
    for wire in (stage.wire, stage.open(stage.service, "")):
        answer = right.send(wire, route.name)
        assert (answer.status_code, code(answer)) == (401, "unauthorized")


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("route", KEYED, ids=ids)
def test_a_scope_opens_a_route_where_the_table_says_so(route: Route, scope: Scope, stage: ServiceFixture) -> None:
    answer = RIGHT[route.name](stage).send(stage.keyed(scopes=(scope,)), route.name)
    if scope in route.scopes and route.name == OF_ONE_KEY:
        assert (answer.status_code, code(answer)) == (404, "call_not_found")
    elif scope in route.scopes:
        assert answer.is_success, answer.text
    else:
        assert (answer.status_code, code(answer)) == (403, "api_key_scope_forbidden")


@pytest.mark.parametrize("route", [route for route in KEYED if route.name != OF_ONE_KEY], ids=ids)
def test_a_member_token_opens_every_route(route: Route, stage: ServiceFixture) -> None:
    assert RIGHT[route.name](stage).send(stage.keyed(member=True), route.name).is_success


@pytest.mark.parametrize("path", PATHS)
def test_another_method_is_refused_with_those_that_are_right(path: str, stage: ServiceFixture) -> None:
    routes = {route.method: route for route in BUILT if route.path == path}
    allowed = set(routes) | ({"HEAD"} if "GET" in routes else set())
    name = next(iter(routes.values())).name
    for method in sorted({*METHODS, "HEAD"} - allowed):
        answer = RIGHT[name](stage).send(stage.wire, name, method)
        assert answer.status_code == 405
        assert set(answer.headers["allow"].split(", ")) == allowed
        assert answer.headers["x-request-id"]
        assert method == "HEAD" or code(answer) == "method_not_allowed"


@pytest.mark.parametrize("route", [route for route in BUILT if route.method == "GET"], ids=ids)
def test_head_is_get_without_the_body(route: Route, stage: ServiceFixture) -> None:
    right = RIGHT[route.name](stage)
    told, head = (right.send(stage.caller(route.name), route.name, method) for method in ("GET", "HEAD"))
    assert (head.status_code, head.content) == (told.status_code, b"")
    for name in ("content-type", "content-length"):
        assert head.headers[name] == told.headers[name]


@pytest.mark.parametrize("route", WITH_PARTS, ids=ids)
def test_an_id_that_is_wrong_or_unknown_is_named(route: Route, stage: ServiceFixture) -> None:
    right = RIGHT[route.name](stage)
    for part, good in list(right.parts.items()):
        wrong, wrong_code, unknown, unknown_code = FILLED.get(route.name) or FILLED[part]
        for text, expected, status in ((wrong, wrong_code, 400), (unknown, unknown_code, 404)):
            if text is not None:
                right.parts[part] = text
                answer = right.send(stage.caller(route.name), route.name)
                assert (answer.status_code, code(answer)) == (status, expected)
        right.parts[part] = good


def counted(service: RunningService) -> int:
    """The requests of the account that count against its limits, so far today."""
    query = "SELECT COALESCE(SUM(requests), 0) AS n FROM rate_window WHERE subject = :subject"
    rows = operate(service, lambda tx: tx.all(query, subject=ACCOUNT))
    return int(rows[0]["n"])


@pytest.mark.parametrize("route", BUILT, ids=ids)
def test_a_request_counts_where_the_table_says_so(route: Route, rated: ServiceFixture) -> None:
    right = RIGHT[route.name](rated)
    before = counted(rated.service)
    assert right.send(rated.caller(route.name), route.name).is_success
    assert counted(rated.service) - before == (1 if route.limited else 0)
