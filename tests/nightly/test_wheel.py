"""The wheel: its files, and what it does in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final
from zipfile import ZipFile

import pytest

from agentsvc_nb import __version__
from agentsvc_nb.testing import RunningService
from tests.unit.repository.test_tree import tracked

pytestmark = pytest.mark.timeout(600)

ROOT: Final = Path(__file__).parents[2]
EXTENSION: Final = "share/jupyter/labextensions/agentsvc-nb"
SITE: Final = "agentsvc_nb/docs.tar.xz"
"""If `python -m docs.site` was run here."""
CALL: Final = """
import sys
from agentsvc_nb import AgentService
with AgentService(sys.argv[1], sys.argv[2]) as client:
    with client.runs.start_and_stream("say from the wheel") as stream:
        assert [event.type for event in stream][-1] == "run.ended"
        print(stream.final_status().output.strip())
"""
TOUR: Final = """
from IPython.terminal.interactiveshell import TerminalInteractiveShell
from agentsvc_nb import local
with local() as client:
    files = [("products.csv", b"product,price\\nJacket,219\\nSocks,9\\n")]
    run = client.runs.start("Which product has the highest price?", files=files, sync=True)
    print(run.output)
    try:
        client.files.list(run.chat).to_frame()
    except ImportError as error:
        print(error)
shell = TerminalInteractiveShell.instance()
shell.run_line_magic("load_ext", "agentsvc_nb")
shell.run_cell_magic("ask", "", "What files are there?")
"""
INSTALLED: Final = """
from importlib.metadata import distributions
found = [made for made in distributions() if made.name not in ("pip", "setuptools")]
files = (file.locate() for made in found for file in made.files or () if file.suffix != ".pyc")  # of pip alone
print(len(found), sum(file.stat().st_size for file in files if file.exists()))
"""


def run(*command: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command away from the checkout, whose modules are not the wheel's."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environ
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT.anchor, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def build(folder: Path) -> Path:
    """Build the wheel in `folder`, and return its path."""
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder, ROOT)
    (made,) = folder.glob(f"agentsvc_nb-{__version__}-*.whl")
    return made


def fresh(folder: Path, *installed: str | Path) -> Path:
    """Install these in a new environment, and return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(python, "-m", "pip", "install", "-q", *installed)
    return python


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel, without extras."""
    return fresh(tmp_path_factory.mktemp("base"), wheel)


def test_the_wheel_has_the_package_the_notebooks_and_the_extension(wheel: Path) -> None:
    tree = {path.relative_to(ROOT).as_posix() for path in tracked(ROOT)}
    package = {name for name in tree if name.startswith("agentsvc_nb/")}
    notebooks = {f"agentsvc_nb/{name}" for name in tree if name.startswith("notebooks/")}
    data = f"agentsvc_nb-{__version__}.data/data/{EXTENSION}"
    extension = {name.replace("agentsvc_nb/labextension", data) for name in package if "/labextension/" in name}
    assert extension
    made = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert made - {SITE} == package | notebooks | extension


def test_the_base_is_small_has_the_extension_and_brings_no_dataframes(python: Path) -> None:
    assert (python.parents[1] / EXTENSION / "static" / "remoteEntry.js").is_file()
    packages, size = map(int, run(python, "-c", INSTALLED).stdout.split())
    assert packages <= 65
    assert size < 220_000_000  # without compiled modules
    assert "False" in run(python, "-c", "import importlib.util as u; print(u.find_spec('numpy') is not None)").stdout


def test_the_base_calls_a_service(python: Path, service: RunningService) -> None:
    assert run(python, "-c", CALL, service.api_key, service.base_url).stdout.strip() == "from the wheel"


def test_the_base_does_the_tour_and_says_what_brings_dataframes(python: Path, tmp_path: Path) -> None:
    try:
        shown = run(python, "-c", TOUR, AGENTSVC_DATA=str(tmp_path), IPYTHONDIR=str(tmp_path)).stdout
    finally:
        run(python, "-m", "agentsvc_nb", "stop", AGENTSVC_DATA=str(tmp_path))
    assert "Jacket (219)" in shown
    assert "DataFrames need pandas: pip install 'agentsvc-nb[frames]'" in shown
    assert "completed" in shown


def test_an_editable_installation_has_the_extension(tmp_path: Path) -> None:
    """Copied: `jupyter-builder develop` links it."""
    python = fresh(tmp_path, "--no-deps", "-e", ROOT)
    assert (python.parents[1] / EXTENSION / "package.json").is_file()
    found = run(python, "-c", "import agentsvc_nb; print(agentsvc_nb.__file__)").stdout.strip()
    assert Path(found).samefile(ROOT / "agentsvc_nb" / "__init__.py")
