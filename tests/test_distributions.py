"""Two distributions out of one tree: `agentsvc-client`, and `agentsvc-nb` with the rest. As wheels: `test_wheel.py`."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

import grimp
import pytest

import agentsvc_nb

ROOT: Final = Path(__file__).parent.parent
PROJECTS: Final = (ROOT, ROOT / "agentsvc-client")
OF_A_CALLER: Final = {"narwhals", "pandas"}
"""Imported in functions, for a DataFrame that a caller has or wants (`pyproject.toml` has a contract)."""
HELD: Final = "is not in agentsvc-client, which is all that is installed: pip install agentsvc-nb"


def project(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return found


def test_the_command_has_the_name_of_the_distribution_too() -> None:
    """`uvx` and `pipx run` start what has that name."""
    scripts = project(ROOT)["scripts"]
    assert scripts == dict.fromkeys(("agentsvc", "agentsvc-nb"), "agentsvc_nb.cli:main")
    assert callable(resolve_name(scripts["agentsvc-nb"]))


@pytest.fixture
def client_alone(tmp_path: Path) -> Path:
    """What the wheel of the client installs, in a folder."""
    package = tmp_path / "agentsvc_nb"
    for room in ("client", "wire"):
        shutil.copytree(ROOT / "agentsvc_nb" / room, package / room)
    shutil.copy(ROOT / "agentsvc_nb" / "__init__.py", package)
    return tmp_path


def run(code: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    """Without site-packages, where this checkout is installed, and the current folder."""
    start = f"import sys; sys.path[:0] = {[str(folder) for folder in folders]}"
    command = [sys.executable, "-I", "-S", "-c", f"{start}\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_licences_are_there() -> None:
    for folder in PROJECTS:
        assert all((folder / name).is_file() for name in project(folder)["license-files"])
    assert len({(folder / "LICENSE").read_text() for folder in PROJECTS}) == 1


def test_the_licences_are_named_where_the_data_is() -> None:
    """What is in the wheel and is no text of ours has a row in the page of licences."""
    page = (ROOT / "docs" / "licences.md").read_text("utf-8")
    assert f"`{project(ROOT)['license']}`" in page
    data = {path for kind in ("ttf", "npz", "txt") for path in (ROOT / "agentsvc_nb").rglob(f"*.{kind}")}
    assert len(data) >= 3
    named = {path for path in data if path.name in page or f"{path.parent.name}/`" in page}
    assert data == named


def test_both_distributions_are_of_the_same_people_and_place() -> None:
    whole, client = (project(folder) for folder in PROJECTS)
    assert whole["authors"] == client["authors"]
    assert whole["requires-python"] == client["requires-python"]
    links = whole["urls"].items() & client["urls"].items()
    assert {name for name, _ in links} == {"Homepage", "Source", "Changelog"}
    assert set(client["classifiers"]) < set(whole["classifiers"])


def test_the_version_stands_once() -> None:
    for folder in PROJECTS:
        settings = tomllib.loads((folder / "pyproject.toml").read_text())
        assert "version" in settings["project"]["dynamic"]
        assert (folder / settings["tool"]["hatch"]["version"]["path"]).samefile(agentsvc_nb.__file__)


def test_the_editable_installation_has_what_the_client_needs() -> None:
    whole, client = (project(folder)["dependencies"] for folder in PROJECTS)
    assert set(client) < set(whole)


def test_the_client_imports_what_it_installs() -> None:
    graph = grimp.build_graph("agentsvc_nb", include_external_packages=True, exclude_type_checking_imports=True)
    modules = [name for name in graph.modules if name.startswith(("agentsvc_nb.client", "agentsvc_nb.wire"))]
    imported = {
        name.partition(".")[0] for module in modules for name in graph.find_modules_directly_imported_by(module)
    }
    installed = {re.split(r"[^\w-]", line)[0].replace("-", "_") for line in project(PROJECTS[1])["dependencies"]}
    assert imported - sys.stdlib_module_names - {"agentsvc_nb"} == installed | OF_A_CALLER


@pytest.mark.parametrize("name", ["local", "Chat", "Files", "ToolForm", "allow_nested_loops"])
def test_a_name_that_is_not_installed_says_what_to_install(client_alone: Path, name: str) -> None:
    assert f"ImportError: agentsvc_nb.{name} {HELD}\n" in run(f"from agentsvc_nb import {name}", client_alone).stderr


@pytest.mark.parametrize("verb", ["load", "unload"])
def test_the_magics_are_not_installed(client_alone: Path, verb: str) -> None:
    done = run(f"import agentsvc_nb; agentsvc_nb.{verb}_ipython_extension(None)", client_alone)
    assert f"ImportError: %{verb}_ext agentsvc_nb {HELD}\n" in done.stderr


def test_the_names_that_are_listed_are_those_of_the_client(client_alone: Path) -> None:
    code = "from agentsvc_nb import __all__, __dir__; print(*__all__, '|', *__dir__())"
    names, listed = (part.split() for part in run(code, client_alone).stdout.split("|"))
    assert {"AgentService", "Run", "StefanBrainError", "MapStopped"} < set(names) <= set(listed)
    assert not {"local", "Chat", "Files", "ToolForm", "allow_nested_loops"} & {*names, *listed}


def test_an_unknown_name_of_the_client_alone(client_alone: Path) -> None:
    done = run("import agentsvc_nb; agentsvc_nb.nonsense", client_alone)
    assert "AttributeError: module 'agentsvc_nb' has no attribute 'nonsense'" in done.stderr


def test_the_rest_may_be_in_another_folder(client_alone: Path, tmp_path: Path) -> None:
    """As after `pip install --user` beside a client that the system has."""
    rest = tmp_path / "user"
    (rest / "agentsvc_nb" / "notebook").mkdir(parents=True)
    (rest / "agentsvc_nb" / "embedded.py").write_text("local = 'found'")
    done = run("import agentsvc_nb; print(agentsvc_nb.local, 'Files' in agentsvc_nb.__all__)", client_alone, rest)
    assert done.stdout == "found True\n", done.stderr


def test_what_is_missing_in_the_whole_package_is_told_as_it_is() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'agentsvc_nb\.nonsense'"):
        agentsvc_nb._module("nonsense", "nonsense")
