"""A shell a test, with a journal of its own."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
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


@pytest.fixture(scope="session")
def asking() -> Iterator[RunningService]:
    """A service whose tools with effects wait for an approval."""
    with running_service(model="scripted", approve_effects="yes", sync_hold_seconds=0.2) as running:
        yield running


@pytest.fixture
def approver(asking: RunningService, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentService]:
    """A client of `asking`, which the environment names."""
    monkeypatch.setenv("SERVICE_API_KEY", asking.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", asking.base_url)
    with AgentService(asking.api_key, asking.base_url) as client:
        yield client


def used_shell(shell: Any) -> Iterator[Any]:
    gc.freeze()  # a shell collects garbage when it ends: let that be of this test alone
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
