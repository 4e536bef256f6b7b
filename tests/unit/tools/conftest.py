"""A site that tools ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.service.site import Site, serving


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as made:
        yield made
