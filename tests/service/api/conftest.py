"""Fixtures for requests by plain HTTP, without the client, to see exactly what is sent and received."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from agentsvc_nb.service.accounts.accounts import ACCOUNT
from agentsvc_nb.service.terms import TERMS_VERSION
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import ROUTES, V1

if TYPE_CHECKING:
    from tests.service.api.service_fixture import ServiceFixture

ACCEPTED = {"developerTermsAccepted": True, "developerTermsVersion": TERMS_VERSION}
KEYS = "/api/developers/keys"


def check_error_is_listed(answer: httpx.Response) -> None:
    """Assert that the first route which takes the request lists the error's status and code in the OpenAPI document."""
    method, path = answer.request.method, answer.request.url.path
    for name, route in ROUTES.items():
        if route.method == method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", route.path), path):
            if answer.status_code >= 400:
                answer.read()
                listed = route.errors_by_status().get(answer.status_code, [])
                assert answer.json()["error"]["code"] in listed, f"{name}: {answer.status_code} {answer.text}"
            return


class Wire:
    """Sends HTTP requests to the service's developer routes, with its key."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http
        http.event_hooks = {"response": [check_error_is_listed]}
        self.account, self.key = ACCOUNT, ""

    def __call__(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self.http.request(method, path if path.startswith("/api") else V1 + path, **options)

    def start(self, message: str, status: int = 202, **fields: Any) -> dict[str, Any]:
        headers = fields.pop("headers", None)
        answer = self("POST", "/runs", json={"message": message, **fields}, headers=headers)
        assert answer.status_code == status, answer.text
        document: dict[str, Any] = answer.json()
        return document

    def finish(self, message: str, **fields: Any) -> dict[str, Any]:
        """Start a run in sync mode and return its ended record."""
        return self.start(message, 200, sync=True, **fields)

    def events(self, run_id: str, **params: Any) -> list[dict[str, Any]]:
        page = self("GET", f"/runs/{run_id}/events", params=params).json()
        found: list[dict[str, Any]] = page["data"]
        return found

    def new_chat(self) -> str:
        """The id of a chat with one turn."""
        chat: str = self.finish("say hello")["chat"]
        return chat


@pytest.fixture
def wire(service: RunningService) -> Iterator[Wire]:
    headers = {"Authorization": f"Bearer {service.api_key}"}
    with httpx.Client(base_url=service.base_url, headers=headers, timeout=60) as http:
        yield Wire(http)


@pytest.fixture
def fresh_key() -> str:
    """An Idempotency-Key nobody has used."""
    return uuid.uuid4().hex


@pytest.fixture(scope="session")
def stage(service: RunningService) -> Iterator[ServiceFixture]:
    from tests.service.api.service_fixture import ServiceFixture  # here, because it imports `Wire`

    with contextlib.ExitStack() as stack:
        yield ServiceFixture(service, stack)


def code(answer: httpx.Response) -> str:
    """The code of an error response; asserts that its envelope is complete."""
    error = answer.json()["error"]
    assert error["message"]
    assert error["type"]
    assert answer.headers["x-request-id"]
    found: str = error["code"]
    return found


@contextlib.contextmanager
def signed_in(service: RunningService) -> Iterator[httpx.Client]:
    """A client with a session cookie; it follows no redirect."""
    with httpx.Client(base_url=service.base_url, timeout=60) as browser:
        assert browser.get(service.sign_in_url).status_code == 303
        yield browser


def page(browser: httpx.Client, path: str, status: int = 200) -> str:
    """The HTML at `path`."""
    answer = browser.get(path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return answer.text
