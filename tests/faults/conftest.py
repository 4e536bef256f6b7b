"""Fixtures of the tests of a broken network: a service with a run and a file in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from tests.faults.faces import async_face, sync_face
from tests.faults.network import CONTENT, HANDLE_SECONDS, LONG, new_chat, nothing_left_open
from tests.support.sampling import sampled


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    """A service for each test module, because tests count its runs and sockets."""
    with running_service(ask_handle_seconds=HANDLE_SECONDS) as running:
        yield running


@pytest.fixture(scope="module")
def ended(service: RunningService) -> tuple[str, list[Any]]:
    """The id of an ended run with many events, and its events as read without a fault."""
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.wait(client.runs.start(LONG).run_id, poll=0.02)
        return run.run_id, list(client.runs.iterate_events(run.run_id))


@pytest.fixture(scope="module")
def chat(service: RunningService) -> str:
    """The id of a chat with a file of 4 MiB, `uploads/big.bin`."""
    with AgentService(service.api_key, service.base_url) as client:
        chat = new_chat(client)
        client.files.upload(("big.bin", CONTENT), chat=chat)
        return chat


@pytest.fixture(params=sampled([sync_face, async_face], sync_face))
def facing(request: pytest.FixtureRequest, service: RunningService) -> Any:
    """A function that makes a client (sync or async) that connects through a given proxy."""
    return lambda proxy: request.param(service.api_key, proxy.base_url)


@pytest.fixture
def all_closed(service: RunningService, ended: object, chat: object) -> Iterator[None]:
    """Fails if the test leaves a descriptor or socket open, here or in the service."""
    with nothing_left_open(service):
        yield
