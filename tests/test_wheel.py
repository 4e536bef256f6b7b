"""The wheel in environments of its own: with its dependencies, and the client with httpx and pydantic alone."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from agentsvc_nb.testing import RunningService

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parent.parent
HEAVY = {
    "IPython",
    "ipywidgets",
    "jsonschema_rs",
    "matplotlib",
    "numpy",
    "pandas",
    "PIL",
    "pypdfium2",
    "starlette",
    "uvicorn",
}
CALL = """
import sys
from agentsvc_nb import AgentService
with AgentService(sys.argv[1], sys.argv[2]) as client:
    with client.runs.start_and_stream("say from the wheel") as stream:
        assert [event.type for event in stream][-1] == "run.ended"
        print(stream.final_status().output.strip(), file=sys.stderr)
print(*{name.partition(".")[0] for name in sys.modules})
"""
SERVE = """
from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
with running_service() as service, AgentService(service.api_key, service.base_url) as client:
    print(client.runs.start("say served by the wheel", sync=True).output.strip())
"""


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Away from the checkout, whose modules are not the wheel's."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT.anchor, env=_environment())
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder, ROOT)
    (made,) = folder.glob("*.whl")
    return made


def fresh(folder: Path, *installed: str | Path) -> Path:
    """The Python of a new environment with these in it."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(python, "-m", "pip", "install", "-q", *installed)
    return python


def test_the_client_needs_httpx_and_pydantic_alone(wheel: Path, tmp_path: Path, service: RunningService) -> None:
    python = fresh(tmp_path, "httpx>=0.28,<1", "pydantic>=2.10,<3")
    run(python, "-m", "pip", "install", "-q", "--no-deps", wheel)
    called = run(python, "-c", CALL, service.api_key, service.base_url)
    assert called.stderr.strip() == "from the wheel"
    assert not set(called.stdout.split()) & HEAVY


def test_its_dependencies_are_all_that_the_wheel_needs(wheel: Path, tmp_path: Path, service: RunningService) -> None:
    python = fresh(tmp_path, wheel)
    called = run(python, "-c", CALL, service.api_key, service.base_url)
    assert {"httpx", "pydantic"} <= set(called.stdout.split())
    assert not set(called.stdout.split()) & HEAVY
    assert run(python, "-c", SERVE).stdout.strip() == "served by the wheel"
