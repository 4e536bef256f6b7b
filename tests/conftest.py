"""Real services for the tests: one process a model and session, started on first use."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service

# Several tests share a processor with services and browsers: a slow example says nothing about what is tested.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no setting of the developer's own machine reaches a test."""
    for name in list(os.environ):
        if name.startswith("AGENTSVC_") or name == "SERVICE_API_KEY":
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def service() -> Iterator[RunningService]:
    """A real service whose model is `scripted`: the message is the script."""
    with running_service(model="scripted") as running:
        yield running


@pytest.fixture(scope="session")
def offline_service() -> Iterator[RunningService]:
    """A real service with the model that users get without any setting."""
    with running_service(model="offline") as running:
        yield running


@pytest.fixture
def client(service: RunningService) -> Iterator[AgentService]:
    with AgentService(service.api_key, service.base_url) as made:
        yield made
