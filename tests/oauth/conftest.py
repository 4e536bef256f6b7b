"""One connector and one service for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.contract.signing import signed_in
from tests.oauth.connector import Connector, connected


@pytest.fixture(scope="session")
def shared_connector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connector]:
    with connected(tmp_path_factory.mktemp("oauth")) as found:
        yield found


@pytest.fixture
def connector(shared_connector: Connector) -> Connector:
    return shared_connector


@pytest.fixture
def browser(connector: Connector) -> Iterator[httpx.Client]:
    """A browser that is signed in."""
    with signed_in(connector.service) as found:
        yield found
