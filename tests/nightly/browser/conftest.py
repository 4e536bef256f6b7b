"""One Chromium for all; each module starts the JupyterLab or Notebook that it needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import TIMEOUT
from tests.browser.lab import launched


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with launched() as browser:
        yield browser
