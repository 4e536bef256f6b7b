"""The service passes each check of the conformance suite that a revision requires, and of its extension of tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.nightly.mcp_conformance import suite
from tests.nightly.mcp_conformance.launcher import FixtureService, fixture_service

EMPTY = {"tasks-status-notifications", "server-sse-multiple-streams", "server-session-lifecycle", "server-sse-polling"}
"""Scenarios that check nothing of such a server, and why: docs/decisions/0076-mcp-by-hand.md."""


@pytest.fixture(scope="module")
def tested() -> Iterator[FixtureService]:
    with fixture_service() as found:
        yield found


@pytest.mark.parametrize(("revision", "checks", "tasks"), [("2026-07-28", 190, 9), ("2025-11-25", 75, 0)])
def test_no_check_fails(tested: FixtureService, revision: str, checks: int, tasks: int) -> None:
    found, said = suite.run(tested, revision)
    assert not [one for one in found if one.failed], said
    assert {one.name for one in found if not one.passed} <= EMPTY, said
    assert sum(one.passed for one in found) >= checks, said
    assert sum(one.name.startswith("tasks-") and one.passed > 0 for one in found) == tasks, said
