"""Real services for the tests: one process a model and session, started on first use."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service

# Several tests share a processor with services and browsers: a slow example says nothing about what is tested.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")

TIERS: Final = ("browser", "hosts", "model", "slow")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Where the time of a run went, by tier; a run of one tier says it with its last line."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[next((tier for tier in TIERS if tier in report.keywords), "default")] += report.duration
    if len(seconds) > 1:
        terminalreporter.section("seconds by tier, workers added up")
        for tier, spent in sorted(seconds.items(), key=lambda row: -row[1]):
            terminalreporter.write_line(f"{tier:<10} {spent:8.0f}")


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
