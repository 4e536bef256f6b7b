"""What `pyproject.toml` says of the distribution: commands, licences, extras."""

from __future__ import annotations

import tomllib
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

ROOT: Final = Path(__file__).parents[3]
SETTINGS: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT: Final[dict[str, Any]] = SETTINGS["project"]


def test_the_command_has_the_name_of_the_distribution_too() -> None:
    """`uvx` and `pipx run` start the command of that name."""
    assert PROJECT["scripts"] == dict.fromkeys(("agentsvc", "agentsvc-nb"), "agentsvc_nb.cli:main")
    assert callable(resolve_name(PROJECT["scripts"]["agentsvc-nb"]))


def test_the_licences_are_named_where_the_data_is() -> None:
    """Each file in the wheel that others made is named in NOTICE."""
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])
    page = (ROOT / "NOTICE").read_text("utf-8")
    assert PROJECT["license"] in page
    data = {path for kind in ("ttf", "npz", "txt") for path in (ROOT / "agentsvc_nb").rglob(f"*.{kind}")}
    assert len(data) >= 3
    named = {path for path in data if path.name in page or f"{path.parent.name}/" in page}
    assert data == named
