"""The tables are whole, and nothing is named that they do not hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.routing import Route as StarletteRoute

import agentsvc_nb
from agentsvc_nb.client import errors
from agentsvc_nb.service.http.routing import routes
from agentsvc_nb.wire.codes import CODES, FAILURES, STATUSES, Code
from agentsvc_nb.wire.routes import ROUTES, Route

PACKAGE = Path(agentsvc_nb.__file__).parent


@pytest.mark.parametrize("row", CODES.values(), ids=CODES)
def test_a_code_says_what_happened_what_to_do_and_what_the_client_raises(row: Code) -> None:
    assert re.fullmatch(r"[a-z_]+", row.code)
    assert row.status in STATUSES
    assert row.cause.endswith(".")
    assert row.hint.endswith(".")
    assert issubclass(getattr(errors, row.raises), errors.StefanBrainError)


SAFE_POSTS = ("runs.cancel", "runs.answer", "jobs.cancel", "files.upload", "files.restore")


@pytest.mark.parametrize("row", ROUTES.values(), ids=ROUTES)
def test_a_route_says_who_may_call_it(row: Route) -> None:
    assert row.path.startswith("/")
    assert {*row.errors, *(code for parameter in row.parameters for code in parameter.errors)} <= set(CODES)
    assert (row.access == "key") == bool(row.scopes)
    assert row.resend != "always" or row.method != "POST" or row.name in SAFE_POSTS


def test_no_two_routes_are_the_same() -> None:
    assert len({(row.method, row.path) for row in ROUTES.values()}) == len(ROUTES)
    assert len({row.operation_id for row in ROUTES.values()}) == len(ROUTES)
    assert ROUTES["files.search"].operation_id == "searchFiles"


def test_every_route_has_its_handler() -> None:
    assert {served.path for served in routes() if isinstance(served, StarletteRoute)} == {
        route.path for route in ROUTES.values()
    }


def test_every_error_that_the_code_names_is_a_row() -> None:
    source = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    assert set(re.findall(r'\bApiError\(\s*"(\w+)"', source)) <= set(CODES)
    assert set(re.findall(r'\brefused\(\s*"(\w+)"', source)) <= set(CODES)
    failures = set(re.findall(r'WorkFailure\(\s*"(\w+)"', source)) | set(re.findall(r'last_error="(\w+)"', source))
    assert failures
    assert failures <= set(FAILURES) | set(CODES)
