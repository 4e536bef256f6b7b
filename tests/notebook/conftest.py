"""A shell a test, with a journal of its own."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.testing import RunningService
from tests.notebook.shells import KernelShell, Shell, loaded


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the journal, embedded service, keyring or IPython profile of the developer."""
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def connected(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names the service with the `scripted` model."""
    monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)


def used_shell(shell: Any) -> Iterator[Any]:
    yield shell
    shell.cell("%unload_ext agentsvc_nb")
    atexit.unregister(shell.atexit_operations)
    shell.atexit_operations()
    type(shell).clear_instance()


@pytest.fixture
def terminal() -> Iterator[Shell]:
    yield from used_shell(loaded(Shell))


@pytest.fixture
def kernel() -> Iterator[KernelShell]:
    """Outside a notebook file: nbclient's."""
    yield from used_shell(loaded(KernelShell))
