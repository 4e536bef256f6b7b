"""One Chromium and one JupyterLab for all journeys, whose kernels talk to an embedded service of their own."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser

from agentsvc_nb import AgentService, embedded
from agentsvc_nb.service.folder import DataFolder
from tests.browser.lab import App, Lab, launched

#: Seconds: some of these restart kernels and reload pages, which takes a minute alone and three beside other tests.
TIMEOUT: Final = 400


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@dataclass
class Place:
    """A lab, and the data folder of the service that its kernels start."""

    lab: Lab
    data: Path
    homes: Path

    def client(self) -> AgentService:
        found = embedded.find_or_start(self.data, model="scripted")
        return AgentService(found.api_key, found.base_url)

    def count(self, where: str = "1 = 1") -> int:
        """The service's own count of runs."""
        return len(self._runs(where))

    def last_run(self) -> str:
        return self._runs("1 = 1")[-1]

    def _runs(self, where: str) -> list[str]:
        # Before the first question there is no database, and connecting would leave an empty one in its place.
        if not (self.data / "service.sqlite3").is_file():
            return []
        with contextlib.closing(sqlite3.connect(self.data / "service.sqlite3")) as database:
            return [run for (run,) in database.execute(f"SELECT run_id FROM run WHERE {where} ORDER BY created_at")]

    @property
    def key(self) -> str:
        return DataFolder(self.data).key.read_text().strip()


@pytest.fixture(scope="package")
def place(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """JupyterLab, started once a worker, with a service that asks before a tool has an effect."""
    yield from placed(tmp_path_factory, chromium, AGENTSVC_APPROVE_EFFECTS="yes")


def placed(
    folders: pytest.TempPathFactory, browser: Browser, app: App = "lab", *, extension: bool = True, **settings: str
) -> Iterator[Place]:
    """A place whose service has these settings; left with it. `extension`: whether its lab has ours."""
    root, data, homes = (folders.mktemp(name) for name in ("notebooks", "data", "homes"))
    env = {"AGENTSVC_DATA": str(data), "AGENTSVC_MODEL": "scripted", **settings}
    env |= {"XDG_DATA_HOME": str(homes), "XDG_STATE_HOME": str(homes)}
    try:
        with Lab(root, env, app=app, extension=extension, browser=browser) as lab:
            yield Place(lab, data, homes)
    finally:
        embedded.stop(data)
