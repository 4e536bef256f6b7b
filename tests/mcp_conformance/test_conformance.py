"""The service passes each check of the conformance suite that a revision requires, and of its extension of tasks."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agentsvc_nb.testing import RunningService, running_service
from tests.contract.signing import signed_in
from tests.mcp_conformance import suite
from tests.oauth.connector import connected, press

EMPTY = {"tasks-status-notifications", "server-sse-multiple-streams", "server-session-lifecycle", "server-sse-polling"}
"""Scenarios that check nothing of such a server, and why: docs/decisions/0076-mcp-by-hand.md."""


@pytest.fixture(scope="module")
def tested() -> Iterator[RunningService]:
    with running_service(approve_effects=True) as found:
        yield found


@pytest.mark.parametrize(("revision", "checks", "tasks"), [("2026-07-28", 190, 9), ("2025-11-25", 75, 0)])
def test_no_check_fails(tested: RunningService, revision: str, checks: int, tasks: int) -> None:
    found, said = suite.run(tested, revision)
    assert not [one for one in found if one.failed], said
    assert {one.name for one in found if not one.passed} <= EMPTY, said
    assert sum(one.passed for one in found) >= checks, said
    assert sum(one.name.startswith("tasks-") and one.passed > 0 for one in found) == tasks, said


def test_it_is_an_authorization_server(tmp_path: Path) -> None:
    """Both scenarios of those: its metadata, and a code that becomes a token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with connected(tmp_path) as connector, signed_in(connector.service) as browser:
        client_id = connector.describe(redirect_uris=["http://127.0.0.1/callback"])

        def allow(url: str) -> None:
            httpx.get(press(browser, url, "allow").headers["location"])

        said = suite.authorize(connector.service.base_url, client_id, port, allow)
    passed = set(re.findall(r"^✓ ([\w-]+): \d+ passed, 0 failed", said, re.M))
    assert passed == {"authorization-server-metadata-endpoint", "authorization-code-grant"}, said
    assert "✗" not in said, said
