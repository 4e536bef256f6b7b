"""One JupyterLab for the module's tests, its kernels talking to an embedded service in a folder of their own."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, sync_playwright

from agentsvc_nb import AgentService, embedded
from agentsvc_nb.service.folder import DataFolder
from tests.browser.lab import CHROMIUM, App, Lab

APPS: Final[tuple[App, ...]] = ("lab", "notebook")
#: Seconds: some of these restart kernels and reload pages, which takes a minute alone and three beside other tests.
TIMEOUT: Final = 400


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    executable = shutil.which("chromium")
    assert executable, "install the chromium package"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=[*CHROMIUM])
        yield browser
        browser.close()


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
        with contextlib.closing(sqlite3.connect(self.data / "service.sqlite3")) as database:
            found: int = database.execute(f"SELECT COUNT(*) FROM run WHERE {where}").fetchone()[0]
        return found

    def last_run(self) -> str:
        with contextlib.closing(sqlite3.connect(self.data / "service.sqlite3")) as database:
            found: str = database.execute("SELECT run_id FROM run ORDER BY created_at DESC LIMIT 1").fetchone()[0]
        return found

    @property
    def key(self) -> str:
        return DataFolder(self.data).key.read_text().strip()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    yield from placed(tmp_path_factory, "lab")


def placed(folders: pytest.TempPathFactory, app: App, *, extension: bool = True, **settings: str) -> Iterator[Place]:
    """A place whose service has these settings; left with it. `extension`: whether its lab has ours."""
    root, data, homes = (folders.mktemp(name) for name in ("notebooks", "data", "homes"))
    env = {"AGENTSVC_DATA": str(data), "AGENTSVC_MODEL": "scripted", **settings}
    env |= {"XDG_DATA_HOME": str(homes), "XDG_STATE_HOME": str(homes)}
    try:
        with Lab(root, env, app=app, extension=extension) as lab:
            yield Place(lab, data, homes)
    finally:
        embedded.stop(data)
