"""The tables are whole, and nothing is named that they do not hold."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.routing import Route as StarletteRoute

import agentsvc_nb
from agentsvc_nb.client import errors
from agentsvc_nb.service.http.routing import routes
from agentsvc_nb.wire.codes import CODES, FAILURES, STATUSES
from agentsvc_nb.wire.routes import ROUTES

PACKAGE = Path(agentsvc_nb.__file__).parent


def test_a_code_says_what_happened_what_to_do_and_what_the_client_raises() -> None:
    for row in CODES.values():
        assert re.fullmatch(r"[a-z_]+", row.code)
        assert row.status in STATUSES
        assert row.cause.endswith("."), row.code
        assert row.hint.endswith("."), row.code
        assert issubclass(getattr(errors, row.raises), errors.StefanBrainError)


def test_a_route_says_who_may_call_it() -> None:
    for row in ROUTES.values():
        assert {*row.errors, *(code for parameter in row.parameters for code in parameter.errors)} <= set(CODES)
        assert (row.access == "key") == bool(row.scopes), row.name


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
