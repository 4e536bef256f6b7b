"""A database for each test, and what workers share on it. No service is started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.service.ports import DatabaseEngine
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.settings import Settings
from tests.support import databases
from tests.unit.service import contexts


@pytest.fixture
def database(tmp_path: Path) -> Iterator[DatabaseEngine]:
    opened = databases.opened(tmp_path / "db.sqlite3")
    yield opened
    opened.close()


@pytest.fixture
def storage(database: DatabaseEngine, tmp_path: Path) -> Storage:
    settings = Settings(tmp_path, model="scripted")
    return contexts.storage(database, tmp_path / "blobs", contexts.SetClock(contexts.NOW), settings)


@pytest.fixture(scope="module")
def schemas() -> Iterator[SchemaValidator]:
    found = SchemaValidator()
    yield found
    found.close()
