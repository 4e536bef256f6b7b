"""The wheels in environments of their own: the client alone, and all of it. What they are made of, by their files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Final
from zipfile import ZipFile

import pytest

from agentsvc_nb import __version__
from agentsvc_nb.testing import RunningService
from tests.test_tree import tracked

pytestmark = pytest.mark.timeout(600)

ROOT: Final = Path(__file__).parent.parent
LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
OF_THE_CLIENT: Final = (
    "agentsvc_nb/__init__.py",
    "agentsvc_nb/py.typed",
    "agentsvc_nb/client/",
    "agentsvc_nb/wire/",
)
SITE = "agentsvc_nb/docs.tar.xz"
"""If `python -m docs.site` was run here."""
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
CALL_ASYNC = """
import asyncio, sys
from agentsvc_nb import AsyncAgentService
async def main():
    async with AsyncAgentService(sys.argv[1], sys.argv[2]) as client:
        print((await client.runs.start("say from the wheel", sync=True)).output.strip())
asyncio.run(main())
"""
EVERY_MODULE = """
import importlib, pkgutil, agentsvc_nb
for module in pkgutil.walk_packages(agentsvc_nb.__path__, "agentsvc_nb."):
    importlib.import_module(module.name)
    print(module.name)
"""
INSTALLED = """
from importlib.metadata import distributions
found = [made for made in distributions() if made.name not in ("pip", "setuptools")]
files = (file.locate() for made in found for file in made.files or () if file.suffix != ".pyc")  # of pip alone
print(len(found), sum(file.stat().st_size for file in files if file.exists()))
"""
ELSEWHERE = """
try:
    from agentsvc_nb import local
except ImportError as error:
    print(error)
"""
SERVE = """
from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
with running_service() as service, AgentService(service.api_key, service.base_url) as client:
    print(client.runs.start("say served by the wheel", sync=True).output.strip())
"""


def run(*command: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Away from the checkout, whose modules are not the wheel's."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT.anchor, env={**_environment(), **environ})
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of both."""
    folder = tmp_path_factory.mktemp("wheels")
    build(folder, ROOT, ROOT / "agentsvc-client", AGENTSVC_WHEELS_FOR_INDEX="1")
    return folder


def build(folder: Path, *projects: Path, **environ: str) -> None:
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder, *projects, **environ)


@pytest.fixture(scope="module")
def client_wheel(wheels: Path) -> Path:
    return one(wheels, "agentsvc_client")


@pytest.fixture(scope="module")
def client_python(client_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fresh(tmp_path_factory.mktemp("client"), client_wheel)


def one(wheels: Path, name: str) -> Path:
    (made,) = wheels.glob(f"{name}-{__version__}-*.whl")
    return made


def fresh(folder: Path, *installed: str | Path) -> Path:
    """The Python of a new environment with these in it."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(python, "-m", "pip", "install", "-q", *installed)
    return python


def contents(wheel: Path) -> set[str]:
    return {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}


def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def test_each_file_is_in_one_wheel(wheels: Path, client_wheel: Path) -> None:
    client, rest = contents(client_wheel), contents(one(wheels, "agentsvc_nb"))
    assert not client & rest
    tree = {path.relative_to(ROOT).as_posix() for path in tracked(ROOT)}
    package = {name for name in tree if name.startswith("agentsvc_nb/")}
    notebooks = {f"agentsvc_nb/{name}" for name in tree if name.startswith("notebooks/")}
    shared = {f"agentsvc_nb-{__version__}.data/data/{name}" for name in tree if name.startswith("share/")}
    assert shared
    assert (client | rest) - {SITE} == package | notebooks | shared
    assert client == {name for name in package if name.startswith(OF_THE_CLIENT)}


def test_a_wheel_of_the_checkout_has_all_of_it(wheels: Path, client_wheel: Path, tmp_path: Path) -> None:
    """Where no index has the client."""
    build(tmp_path, ROOT)
    whole = one(tmp_path, "agentsvc_nb")
    assert contents(whole) == contents(client_wheel) | contents(one(wheels, "agentsvc_nb"))
    assert "agentsvc-client" not in str(metadata(whole).get_all("Requires-Dist", []))


def test_the_wheels_belong_together(wheels: Path, client_wheel: Path) -> None:
    client, rest = metadata(client_wheel), metadata(one(wheels, "agentsvc_nb"))
    assert {client["Version"], rest["Version"]} == {__version__}
    assert f"agentsvc-client=={__version__}" in rest.get_all("Requires-Dist", [])


def test_the_long_description_links_to_files_of_this_tree(wheels: Path, client_wheel: Path) -> None:
    """An index shows it alone, without what stands beside it in the tree."""
    made = metadata(one(wheels, "agentsvc_nb"))
    (source,) = (url for url in made.get_all("Project-URL", []) if url.startswith("Source, "))
    beginning = re.escape(source.removeprefix("Source, "))
    links = [link for wheel in (made, metadata(client_wheel)) for link in LINK.findall(str(wheel.get_payload()))]
    assert len(links) > 40
    for link in links:
        found = re.fullmatch(rf"{beginning}/(?:blob|raw)/v{re.escape(__version__)}/([^#]+)(?:#.*)?", link)
        assert found is not None, link
        assert (ROOT / found[1]).exists(), link


def test_the_client_is_a_dozen_packages(client_python: Path) -> None:
    packages, size = map(int, run(client_python, "-c", INSTALLED).stdout.split())
    assert packages <= 12
    assert size < 20_000_000


def test_the_client_needs_httpx_and_pydantic_alone(client_python: Path, service: RunningService) -> None:
    called = run(client_python, "-c", CALL, service.api_key, service.base_url)
    assert called.stderr.strip() == "from the wheel"
    assert not set(called.stdout.split()) & HEAVY
    called = run(client_python, "-c", CALL_ASYNC, service.api_key, service.base_url)
    assert called.stdout.strip() == "from the wheel"


def test_every_module_of_the_client_can_be_imported(client_python: Path, client_wheel: Path) -> None:
    modules = {name for name in contents(client_wheel) if name.endswith(".py")}
    assert len(run(client_python, "-c", EVERY_MODULE).stdout.split()) == len(modules) - 1  # all but the package


def test_the_client_says_what_brings_the_rest(client_python: Path) -> None:
    assert run(client_python, "-c", ELSEWHERE).stdout.strip().endswith(": pip install agentsvc-nb")


def test_its_dependencies_are_all_that_the_wheel_needs(wheels: Path, tmp_path: Path, service: RunningService) -> None:
    python = fresh(tmp_path, "--find-links", wheels, one(wheels, "agentsvc_nb"))
    called = run(python, "-c", CALL, service.api_key, service.base_url)
    assert {"httpx", "pydantic"} <= set(called.stdout.split())
    assert not set(called.stdout.split()) & HEAVY
    assert run(python, "-c", SERVE).stdout.strip() == "served by the wheel"
