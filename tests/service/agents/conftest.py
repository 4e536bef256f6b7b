"""A service for the cases of a module; what it leaves in the process of the tests is left to be collected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.agents.serving import Serving, language_service


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:Unclosed file:ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="module")
def language() -> Iterator[Serving]:
    with language_service() as it:
        yield it


@pytest.fixture
def it(language: Serving) -> Serving:
    """A service whose model a test tells what to answer (`it.server.answers`)."""
    language.server.answers()
    return language
