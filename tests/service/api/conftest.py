"""Fixtures for requests by plain HTTP, without the client, to see exactly what is sent and received."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import httpx
import pytest

from agentsvc_nb.service.accounts.accounts import ACCOUNT
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import V1
from tests.service.api import documented

if TYPE_CHECKING:
    from tests.service.api.service_fixture import ServiceFixture


class Wire:
    """Sends HTTP requests to the service's developer routes, with its key.

    Checks of each error response that the OpenAPI document lists it (`documented.check`).
    """

    def __init__(self, http: httpx.Client) -> None:
        self.http = http
        http.event_hooks = {"response": [documented.check]}
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


class Opened(Protocol):
    """Opens a `Wire` to any service, with any of its keys; without one, with the service's own."""

    def __call__(self, service: RunningService, key: str = "") -> Wire: ...


@pytest.fixture
def opened() -> Iterator[Opened]:
    clients: list[httpx.Client] = []

    def open_(service: RunningService, key: str = "") -> Wire:
        headers = {"Authorization": f"Bearer {key or service.api_key}"}
        clients.append(httpx.Client(base_url=service.base_url, headers=headers, timeout=60))
        return Wire(clients[-1])

    yield open_
    for client in clients:
        client.close()


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
