"""What the tests of a broken network share: a service of their own with something in it; and the profile for a long
search, by `--hypothesis-profile long`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from tests.contract.faces import async_face, sync_face
from tests.faults.network import CONTENT, HANDLE_SECONDS, LONG, new_chat, nothing_left_open

settings.register_profile("long", settings.get_profile("default"))


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    """One of each module's own: its runs and sockets are counted."""
    with running_service(ask_handle_seconds=HANDLE_SECONDS) as running:
        yield running


@pytest.fixture(scope="module")
def ended(service: RunningService) -> tuple[str, list[Any]]:
    """A run of many events, and these as they come without a fault."""
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.wait(client.runs.start(LONG).run_id, poll=0.02)
        return run.run_id, list(client.runs.iterate_events(run.run_id))


@pytest.fixture(scope="module")
def chat(service: RunningService) -> str:
    """One with a file of some MB, `uploads/big.bin`."""
    with AgentService(service.api_key, service.base_url) as client:
        chat = new_chat(client)
        client.files.upload(("big.bin", CONTENT), chat=chat)
        return chat


@pytest.fixture(params=[sync_face, async_face], ids=["sync", "async"])
def facing(request: pytest.FixtureRequest, service: RunningService) -> Any:
    """From a proxy to a face that goes through it."""
    return lambda proxy: request.param(service.api_key, proxy.base_url)


@pytest.fixture
def all_closed(service: RunningService, ended: object, chat: object) -> Iterator[None]:
    """What a test opens is closed in its end, here and at the service."""
    with nothing_left_open(service):
        yield
