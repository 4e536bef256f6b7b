"""A service whose keys and account the tests of commands change."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentsvc_nb.testing import RunningService, running_service


@pytest.fixture(scope="session")
def own_service() -> Iterator[RunningService]:
    with running_service() as running:
        yield running
