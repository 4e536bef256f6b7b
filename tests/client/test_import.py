"""What an import loads, and the package's public names."""

from __future__ import annotations

import subprocess
import sys

import pytest

import agentsvc_nb

HEAVY = {"IPython", "ipywidgets", "pandas", "starlette", "uvicorn", "PIL", "pypdf", "jsonschema"}


def loaded_by(code: str) -> set[str]:
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], check=True, capture_output=True, text=True
    )
    return {name.split(".")[0] for name in shown.stdout.split()}


def test_importing_the_package_loads_nothing() -> None:
    assert not loaded_by("import agentsvc_nb") & (HEAVY | {"httpx", "pydantic"})


def test_the_client_loads_the_http_library_and_pydantic_only() -> None:
    loaded = loaded_by("import agentsvc_nb.client.surface")
    assert {"httpx", "pydantic"} <= loaded
    assert not loaded & HEAVY


def test_a_replay_loads_no_service() -> None:
    assert not loaded_by("from agentsvc_nb.testing import Record, Replay") & HEAVY


def test_names_come_when_they_are_used() -> None:
    assert not loaded_by("import agentsvc_nb; agentsvc_nb.StefanBrainError") & (HEAVY | {"httpx"})


@pytest.mark.parametrize("name", agentsvc_nb.__all__)
def test_public_names_are_there(name: str) -> None:
    assert getattr(agentsvc_nb, name)
    assert name in dir(agentsvc_nb)


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        agentsvc_nb.nonsense  # noqa: B018


def test_the_version_of_the_specification() -> None:
    assert agentsvc_nb.DEVELOPER_SDK_SPEC_VERSION == "1.0.0"
    assert not loaded_by("from agentsvc_nb import DEVELOPER_SDK_SPEC_VERSION") & (HEAVY | {"httpx", "pydantic"})
